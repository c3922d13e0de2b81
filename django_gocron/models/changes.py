"""The one signal by which rows tell the engine that a definition has changed."""

from __future__ import annotations

from django.dispatch import Signal

definition_changed = Signal()
"""Sent inside the transaction of an edit, with ``using`` (database alias) and ``job_ids`` (a sequence of keys, or
None: whichever jobs are newer than their plan). The receiver replans them in the same transaction."""
