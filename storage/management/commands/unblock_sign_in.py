"""`manage.py unblock_sign_in`: unblock accounts and addresses after too many failed sign-ins."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from repository_site.core.client_network import network_of
from repository_site.core.terminal.command_line import RepositoryCommand

if TYPE_CHECKING:
    from storage.models import FailedSignIn


class Command(RepositoryCommand):
    help = (
        "Delete the failed sign-ins of an account, of an address, or all of them, so that the next attempt is\n"
        "checked again. Unblocking an account also unblocks the addresses that tried it and are blocked for all\n"
        "names; otherwise its owner could still not sign in. Without options the command lists what is blocked."
    )
    examples = """\
  manage.py unblock_sign_in                          list what is blocked
  manage.py unblock_sign_in --account jo             unblock an account, and the addresses that tried it
  manage.py unblock_sign_in --address 192.0.2.7      unblock an address for all names
  manage.py unblock_sign_in --all                    unblock everything
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="NAME", help="user name")
        parser.add_argument(
            "--address", metavar="ADDRESS", help="IP address of the attempts; an IPv6 address means its /64 network"
        )
        parser.add_argument("--all", action="store_true", help="all failed sign-ins")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.access.sign_ins import failures_of, lift_blocks

        name, address = options["account"], options["address"]
        if not name and not address and not options["all"]:
            self._list()
            return
        if address:
            try:
                ip_address(address)
            except ValueError:
                raise CommandError(f"{address!r} is not an IP address; expected for example 192.0.2.7") from None
        rows = failures_of(name, network_of(address) if address else None)
        blocking = lift_blocks(rows)
        self.stderr.write(f"Deleted {len(rows)} record(s) of failed sign-ins; {blocking} of them blocked signing in.")
        if name and not rows:
            # Attempts from an address that is already blocked for all names are not counted for the account.
            self.stderr.write("The address may be blocked for all names. List those: manage.py unblock_sign_in")

    def _list(self) -> None:
        from storage.models import FailedSignIn

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
            self.stderr.write("No account and no address is blocked.")


def _whose(row: FailedSignIn) -> str:
    if not bytes(row.name_digest):
        return "(any name)"
    return row.account.get_username() if row.account else "(no account of that name)"
