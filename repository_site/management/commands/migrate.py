"""`manage.py migrate`: apply the migrations of the database."""

from __future__ import annotations

import random
import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections

# Retries for about two minutes while the tables are in use (D155).
ATTEMPTS = 120
# A migration that only databases from before the first release have.
UNRELEASED = ("release", "0001_lifecycle")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Retry while a migration does not get its locks. It is then rolled back; earlier migrations stay applied."""
        from django.db.migrations.recorder import MigrationRecorder
        from psycopg.errors import DeadlockDetected, LockNotAvailable

        if UNRELEASED in MigrationRecorder(connections[options["database"]]).applied_migrations():
            raise CommandError(
                "This database is from before release 0.1.0, which cannot migrate it. Start with an empty one: delete"
                " the folder of the embedded database (var by default), or name another database in DATABASE_URL. To"
                " keep content, export it with the earlier code first: manage.py export_storage"
            )
        for attempt in range(ATTEMPTS):
            try:
                super().handle(*args, **options)
                return
            except OperationalError as problem:
                if not isinstance(problem.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if not attempt:
                    self.stderr.write("Other transactions use the tables; retrying for up to two minutes ...")
            time.sleep(random.uniform(0.5, 1.5))  # noqa: S311  not a secret
        raise CommandError(
            "Other transactions used the tables all the time, so a migration was not applied; earlier ones are."
            " End long transactions, or stop the servers, and run: manage.py migrate"
        )
