"""`manage.py migrate`: Django's, and patient where the tables are in use (D155)."""

from __future__ import annotations

import random
import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

# About two minutes in all.
ATTEMPTS = 120


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """A migration that did not get its locks in time was undone as a whole; those before it stay applied."""
        for attempt in range(ATTEMPTS):
            try:
                super().handle(*args, **options)
                return
            except OperationalError as problem:
                if not isinstance(problem.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if not attempt:
                    self.stderr.write("Others hold the tables; trying again until they are free for a moment.")
            time.sleep(random.uniform(0.5, 1.5))  # noqa: S311  not a secret
        raise CommandError(
            "others hold the tables all the time, so a migration could not be applied; those before it stay applied."
            " End long transactions, or stop the servers, and run it again"
        )
