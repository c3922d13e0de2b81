"""Sphinx builds these pages; warnings are errors (``make docs``)."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "django-gocron"
author = "django-gocron contributors"
copyright = author
release = version = installed_version("django-gocron")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = f"django-gocron {release}"
