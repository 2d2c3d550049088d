"""`manage.py migrate`: apply the migrations of the database."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from repository_site.core.problems import Problem

# A fixed number. Commands and servers that start at the same time on one database migrate one after the other: each
# would create the same tables and content types (D305).
MIGRATION_LOCK = 7_303_014_236
# Seconds between two attempts to take it.
MIGRATION_LOCK_PAUSE = 0.2
# Retries for about two minutes while the tables are in use (D155).
ATTEMPTS = 120
# A migration that only databases from before the first release have.
UNRELEASED = ("release", "0001_lifecycle")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        with migration_lock(options["database"]):
            self._migrate(*args, **options)

    def _migrate(self, *args: Any, **options: Any) -> None:
        """Retry while a migration does not get its locks. It is then rolled back; earlier migrations stay applied."""
        # Otherwise Django would say that the migrations of allauth and its models differ (D500).
        import allauth.mfa.models
        import allauth.socialaccount.models  # noqa: F401
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
            except Problem as problem:
                raise CommandError(problem.message) from None
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


@contextmanager
def migration_lock(database: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Wait for the migrations of other processes, and keep them waiting.

    The lock belongs to an open transaction of another connection: PgBouncer would give a lock of a session to any
    client (D231). Asking repeatedly, instead of waiting inside a statement, blocks no CREATE INDEX CONCURRENTLY.
    """
    keeper = connections[database].copy()
    try:
        keeper.set_autocommit(False)
        with keeper.cursor() as cursor:
            while True:
                cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [MIGRATION_LOCK])
                if cursor.fetchone() == (True,):
                    break
                time.sleep(MIGRATION_LOCK_PAUSE)
        yield
        # The lock ends now, not when the server notices the end of the connection.
        keeper.rollback()
    finally:
        keeper.close()
