#!/usr/bin/env python
"""The command line of the repository. Without arguments it lists the commands."""

import gc
import os
import sys


def main() -> None:
    match sys.argv[1:]:
        case [] | ["help" | "--help" | "-h"]:
            from repository_site.core.command_list import command_list

            sys.stdout.write(command_list())
        case ["version" | "--version"]:
            from repository_site import __version__

            sys.stdout.write(f"{__version__}\n")
        case _:
            run_command()


def run_command() -> None:
    # Imported modules stay, so frequent garbage collection during the start would only take time.
    gc.set_threshold(50_000, 20, 50)
    # structlog imports these development tools where they are installed. No command uses them.
    for name in ("rich", "greenlet"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # Python's own mark of a blocked module
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "repository_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
