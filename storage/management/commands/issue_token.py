"""`manage.py issue_token`: give a program access to a storage, a collection or the site."""

from __future__ import annotations

from datetime import UTC
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from repository_site.core.problems import NotFound
from repository_site.core.terminal.command_line import RepositoryCommand
from storage.management.validity_arguments import add_validity_argument
from storage.options import Role


class Command(RepositoryCommand):
    help = (
        "Issue an API token. The command prints the token alone to stdout. Keep it: the repository stores only a\n"
        "digest and cannot show it again. `list_tokens` lists tokens, `rotate_token` replaces the value of one.\n"
        "\n"
        "A token ends after REPOSITORY_TOKEN_DAYS days (90) unless --valid-until says otherwise. Give a program no\n"
        "more than it needs: --read-only, --facet and --operation limit what it can do, --network where it can be used."
    )
    examples = """\
  manage.py issue_token acme handbook --name "intranet search" --role viewer
  TOKEN=$(manage.py issue_token acme handbook --name importer --role editor --valid-until 2027-12-31)
  manage.py issue_token acme handbook --name archive --role analyzer --valid-until never --read-only
  manage.py issue_token acme handbook --name risks --role editor --facet risks --network 192.0.2.0/24 2001:db8::/32
  manage.py issue_token acme handbook --name feed --role analyzer --operation followChanges getElement
  manage.py issue_token acme _admin --name ops --role administrator        for the administration of a collection
  manage.py issue_token _sysadmin _admin --name ops --role administrator   for the administration of the site
  manage.py issue_token acme _admin --name "Entra ID" --scim acme-id       for the directory of an identity provider
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, or _sysadmin")
        parser.add_argument("storage", help="id of the storage, or _admin")
        parser.add_argument("--name", required=True, help="purpose of the token, shown in lists")
        kind = parser.add_mutually_exclusive_group(required=True)
        kind.add_argument(
            "--role",
            action="append",
            nargs="+",
            choices=[role.value for role in Role],
            default=[],
            help="role of the token; repeat the option for several roles",
        )
        kind.add_argument("--scim", metavar="PROVIDER", help="id of the identity provider whose directory uses SCIM")
        parser.add_argument("--user", type=UUID, metavar="ID", help="id of the user element that uses the token")
        add_validity_argument(parser, "90 days from now, or REPOSITORY_TOKEN_DAYS days")
        parser.add_argument("--read-only", action="store_true", help="refuse all operations that write")
        for name, metavar, text in (
            ("--facet", "NAME", "facet whose elements the token can see and change; default: all facets"),
            ("--operation", "ID", "operationId of the OpenAPI document, such as listElements; default: all operations"),
            ("--network", "CIDR", "network, such as 192.0.2.0/24 or 2001:db8::/32; default: all networks"),
        ):
            parser.add_argument(name, action="append", nargs="+", default=[], metavar=metavar, help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.access.token_limits import TokenLimits
        from storage.access.tokens import issue_token
        from storage.models import IdentityProvider
        from storage.tenancy.contexts import context_at

        context = context_at(options["collection"], options["storage"])
        end = options["valid_until"]
        provider = None
        if options["scim"] is not None:
            provider = IdentityProvider.objects.filter(key=options["scim"], collection=context.collection).first()
            if provider is None:
                raise NotFound(f"The collection {options['collection']} has no identity provider {options['scim']}.")
        issued = issue_token(
            context,
            options["name"],
            [Role(name) for name in _all(options["role"])],
            user_id=options["user"],
            valid_until=end.in_zone_of(context.storage) if end else None,
            never_expires=end is not None and end.moment is None,
            limits=TokenLimits(
                _all(options["network"]), options["read_only"], _all(options["facet"]), _all(options["operation"])
            ),
            provider=provider,
        )
        until = issued.token.valid_until
        validity = f"valid until {until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if until else "without an end"
        self.stderr.write(f"Token {issued.token.id} for {context.path.strip('/')}, {validity}; it is not shown again:")
        self.stdout.write(issued.value)


def _all(given: list[list[str]]) -> list[str]:
    return [each for few in given for each in few]
