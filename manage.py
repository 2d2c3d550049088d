#!/usr/bin/env python
"""The command line of the repository. Without arguments it lists the commands."""

import gc
import os
import sys
from importlib import import_module
from itertools import takewhile


def main() -> None:
    # structlog imports these development tools where they are installed. No command uses them.
    for name in ("rich", "greenlet"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # Python's own mark of a blocked module
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "repository_site.settings")
    command, *arguments = sys.argv[1:] or ["help"]
    options = set(takewhile(lambda argument: argument != "--", arguments))
    if command in {"help", "--help", "-h"} and not arguments:
        from repository_site.core.terminal.command_list import command_list

        sys.stdout.write(command_list())
    elif command in {"version", "--version"} and not arguments:
        from repository_site import __version__

        sys.stdout.write(f"{__version__}\n")
    elif options.isdisjoint({"--help", "-h"}) or not show_help(command):
        run_command()


def show_help(command: str) -> bool:
    """Print the help of a command of ours, and return whether it is one. Django need not start for this (D176)."""
    from repository_site.core.terminal.command_list import command_module

    if module := command_module(command):
        gc.disable()  # the process ends soon
        import_module(module).Command().print_help(sys.argv[0], command)
    return bool(module)


def run_command() -> None:
    # What is loaded during the start stays, so collecting garbage would only take time. The command line enables it.
    gc.disable()
    from repository_site.core.terminal.command_line import RepositoryCommandLine

    RepositoryCommandLine(sys.argv).execute()


if __name__ == "__main__":
    main()
