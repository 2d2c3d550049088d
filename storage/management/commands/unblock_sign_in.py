"""`manage.py unblock_sign_in`: let somebody try again who has failed to sign in too often."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from repository_site.core.client_network import network_of
from repository_site.core.command_line import RepositoryCommand
from storage.access.sign_ins import failures_of, lift_blocks
from storage.models import FailedSignIn


class Command(RepositoryCommand):
    help = (
        "Forget failed sign-ins of one name, of one address, or all of them, so that the next attempt is looked at.\n"
        "With a name, an address that it was typed from is let in again, too, if it is blocked for all names: else\n"
        "its owner would still be kept out. Without arguments it lists who is blocked now."
    )
    examples = """\
  manage.py unblock_sign_in                          who is blocked
  manage.py unblock_sign_in --account jo             from wherever, and these addresses
  manage.py unblock_sign_in --address 192.0.2.7      with whatever name
  manage.py unblock_sign_in --all
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="NAME", help="the name that is typed to sign in")
        parser.add_argument("--address", metavar="ADDRESS", help="where the attempts come from; IPv6: its /64")
        parser.add_argument("--all", action="store_true", help="everything that is counted")

    def handle(self, *args: Any, **options: Any) -> None:
        name, address = options["account"], options["address"]
        if not name and not address and not options["all"]:
            self._list()
            return
        if address:
            try:
                ip_address(address)
            except ValueError:
                raise CommandError(f"{address!r} is not an IP address") from None
        rows = failures_of(name, network_of(address) if address else None)
        blocking = lift_blocks(rows)
        self.stderr.write(f"{len(rows)} row(s) forgotten; {blocking} of them blocked signing in.")
        if name and not rows:
            # An address that was blocked before it tried this name has never got so far as to be counted with it.
            self.stderr.write("Is the address blocked for all names? Without arguments this command lists those.")

    def _list(self) -> None:
        now = timezone.now()
        blocked = [(row, row.blocked_until(now)) for row in FailedSignIn.objects.select_related("account")]
        lines = [
            f"{row.network}  {_whose(row)}  until {until.isoformat(timespec='seconds').replace('+00:00', 'Z')}"
            for row, until in blocked
            if until
        ]
        if lines:
            self.stdout.write("\n".join(lines))
        else:
            self.stderr.write("Nobody is blocked.")


def _whose(row: FailedSignIn) -> str:
    if not bytes(row.name_digest):
        return "(any name)"
    return row.account.get_username() if row.account else "(no account of that name)"
