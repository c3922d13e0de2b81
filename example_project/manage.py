#!/usr/bin/env python
"""Django's command line for the shop."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here. `make demo`, in the folder above, makes an environment.")
    execute_from_command_line(sys.argv)
