"""`manage.py version`: print the version of the repository."""

from __future__ import annotations

from typing import Any

from repository_site import __version__
from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    """`manage.py` itself answers without this module, and without Django; here the command can be found."""

    help = "Print the version of the repository."
    examples = """\
  manage.py version
"""

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(__version__)
