"""`manage.py demo`: create the storage demo/showcase with its content, and serve it."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction

from repository_site.core import environment
from repository_site.core.ports import Bind
from repository_site.core.problems import Unauthenticated
from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.management.commands.serve import add_server_arguments, check_bind, prepare_database, serve

if TYPE_CHECKING:
    from storage.models import Storage

COLLECTION, STORAGE = "demo", "showcase"
LOGIN = "admin"
DEMO_DATA = environment.PROJECT_DIR / "elements/demo/showcase.ndjson"


class Command(RepositoryCommand):
    help = (
        "Create the storage demo/showcase with its content, print addresses and credentials, and serve it until\n"
        "Ctrl-C. Later runs keep what is there, and start in a few seconds."
    )
    examples = """\
  manage.py demo                        listen on 127.0.0.1:8000
  manage.py demo --bind 127.0.0.1:8080
  manage.py demo --no-serve             create and print only
"""

    def add_arguments(self, parser: CommandParser) -> None:
        add_server_arguments(parser)
        parser.add_argument("--no-serve", action="store_true", help="create and print, but do not serve")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["no_serve"]:
            check_bind(options["bind"])
        self.stderr.write("Starting the database and checking its tables; the first time takes some 15 seconds ...")
        prepare_database(migrate=True, verbosity=options["verbosity"])
        storage = self._storage()
        credentials = DemoCredentials(settings.DATA_DIR / "demo-credentials.json")
        password, token = credentials.password(), credentials.token(storage)
        self._add_member(storage)
        self._announce(options["bind"], password, token)
        if not options["no_serve"]:
            settings.PUBLIC_STORAGE_LIST = True  # the landing page leads everybody to the demo storage
            serve(options["bind"], options["workers"], options["jobs"], self)

    @transaction.atomic
    def _storage(self) -> Storage:
        """Create storage and content in one transaction, so that an interrupted run leaves nothing behind."""
        from elements.transfer.exporting import count_versions
        from release.demo.telling import fill_demo
        from storage.models import AnonymousAccess
        from storage.provisioning.provision import StorageRequest, provision_storage
        from storage.tenancy.contexts import read_storage, storage_at

        if read_storage(COLLECTION, STORAGE) is None:
            provision_storage(
                StorageRequest(
                    collection=COLLECTION,
                    key=STORAGE,
                    title="Showcase",
                    description="A process house to look around in.",
                    anonymous=AnonymousAccess.READ,
                )
            )
        storage = storage_at(COLLECTION, STORAGE)
        if count_versions(storage) == 0:
            self.stderr.write(f"Filling the storage {storage} ...")
            result = fill_demo(storage, str(DEMO_DATA))
            self.stderr.write(f"Imported {result.elements} elements in {result.versions} versions.")
        return storage

    def _add_member(self, storage: Storage) -> None:
        """Let the login act as the quality manager: a reviewer, author and owner of many elements."""
        from release.demo.story import QUALITY
        from storage.models import StaffAccount, StorageMembership
        from storage.options import Role

        account = StaffAccount.objects.filter(username=LOGIN).first()
        if account is not None and not StorageMembership.objects.filter(storage=storage).exists():
            roles = [Role.ADMINISTRATOR.value]
            StorageMembership.objects.create(account=account, storage=storage, roles=roles, user_id=QUALITY)

    def _announce(self, bind: Bind, password: str | None, token: str) -> None:
        base = bind.url
        address = f"{base}/{COLLECTION}/{STORAGE}"
        login = f"{LOGIN} / {password}" if password else f"{LOGIN} (with the password that you set)"
        self.stdout.write(
            "\n".join(
                [
                    "",
                    f"  Landing page   {base}/",
                    f"  Storage info   {address}/_api/rest/info",
                    f"  API document   {address}/_api/docs/",
                    f"  Reader pages   {address}/",
                    f"  Back office    {address}/admin/   login: {login}",
                    f"  Installation   {base}/admin/   its back office, with the same login",
                    f"  Health         {base}/healthz   {base}/readyz",
                    "",
                    f"  API token      {token}   role: administrator of {COLLECTION}/{STORAGE}",
                    f"  Try it         curl -H 'Authorization: Bearer {token}' {address}/_api/rest/info",
                    f"  Follow changes curl -H 'Authorization: Bearer {token}' '{address}/_api/rest/changes?$wait=30'",
                    "",
                ]
            )
        )
        self.stdout.flush()


class DemoCredentials:
    """Password and API token of the demo, kept in the data folder so that later runs can print them again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.kept: dict[str, str] = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            self.kept = {}

    def password(self) -> str | None:
        """Return the password of the back-office login; None if someone has changed it."""
        from storage.models import StaffAccount

        account = StaffAccount.objects.filter(username=LOGIN).first()
        kept = self.kept.get("password", "")
        if account is not None:
            return kept if kept and account.check_password(kept) else None
        kept = secrets.token_urlsafe(12)
        StaffAccount.objects.create_superuser(LOGIN, password=kept)
        self._keep("password", kept)
        return kept

    def token(self, storage: Storage) -> str:
        from storage.access.tokens import issue_token, recognise_token
        from storage.options import Role
        from storage.tenancy.contexts import Context, ContextType

        context = Context(ContextType.STORAGE, storage.collection, storage)
        kept = self.kept.get("token", "")
        try:
            recognise_token(kept, context)
        except Unauthenticated:
            pass
        else:
            return kept
        issued = issue_token(context, "demo", [Role.ADMINISTRATOR])
        self._keep("token", issued.value)
        return issued.value

    def _keep(self, name: str, value: str) -> None:
        self.kept[name] = value
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(self.kept, file)
        draft.replace(self.path)
