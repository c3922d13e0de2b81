"""Settings of the example shop. Fit for a look around on your own machine, not for anything else."""

import os
from pathlib import Path

import django

from config.databases import read_database_url

BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = "no secret: this shop is a demonstration"
DEBUG = True
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_gocron",
    "shop",
    "demo",
]

GOCRON = {
    "COMMANDS": ["clearsessions"],  # management commands that a job may run
}

DATABASES = {
    "default": read_database_url(os.environ.get("DATABASE_URL") or "sqlite:///shop.sqlite3", BASE_DIR)
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TIME_ZONE = "Europe/Berlin"
USE_TZ = True

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
if django.VERSION >= (6, 0):
    MIDDLEWARE.insert(1, "django.middleware.csp.ContentSecurityPolicyMiddleware")
    SECURE_CSP = {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }

ROOT_URLCONF = "config.urls"
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "collected_static"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# Mail is printed where the scheduler runs.
CONSOLE = "django.core.mail.backends.console.EmailBackend"
DEFAULT_FROM_EMAIL = "shop@shop.example"
if django.VERSION >= (6, 1):
    MAILERS = {"default": {"BACKEND": CONSOLE}}
else:
    EMAIL_BACKEND = CONSOLE
