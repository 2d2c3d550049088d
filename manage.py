#!/usr/bin/env python
"""The command line of the repository: `python manage.py help` lists what it can do."""

import gc
import os
import sys


def main() -> None:
    # What is imported stays; to look through it again and again would take a tenth of the time of a start.
    gc.set_threshold(50_000, 20, 50)
    # structlog imports rich, a development tool, where it is installed; no command uses it, and it takes 0.1 s.
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]  # what Python itself writes for a blocked module
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "repository_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
