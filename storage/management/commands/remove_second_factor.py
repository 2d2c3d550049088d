"""`manage.py remove_second_factor`: let a person in who has lost the second factor."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Remove all second factors and recovery codes of an account, and end its sessions. Check first that the\n"
        "person who asks is the owner of the account. If a factor is required, the next sign-in sets up a new one."
    )
    examples = """\
  manage.py remove_second_factor jo
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", metavar="NAME", help="user name")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.accounts.ending import end_all_sessions
        from storage.accounts.second_factors import remove_all_factors
        from storage.models import StaffAccount

        account = StaffAccount.objects.filter(username=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account {options['account']!r}.")
        number = remove_all_factors(account)
        ended = end_all_sessions(account)
        self.stderr.write(f"Removed {number} factor(s) of {account}, with recovery codes; ended {ended} session(s).")
