"""Work that a periodic job does in one storage after the other."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from repository_site.core.problems import NotFound
from storage.models import Storage

log = structlog.get_logger("jobs")
# Storages that the error names; the log has all of them.
NAMED = 5


class StoragesFailed(Exception):
    """The work failed in some storages, after it was done in all others."""


def in_every_storage(work: Callable[[Storage], object]) -> None:
    """Call a function for each storage; one that fails stops none of the others."""
    problems = []
    storages = list(Storage.objects.select_related("collection"))
    for storage in storages:
        try:
            work(storage)
        except NotFound:
            # Somebody removed the storage after the list was read.
            continue
        except Exception as problem:
            log.warning("periodic job failed in a storage", storage=str(storage), exc_info=problem)
            problems.append(f"{storage}: {' '.join(str(problem).split()) or type(problem).__name__}")
    if problems:
        more = f" | and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
        raise StoragesFailed(f"{len(problems)} of {len(storages)} failed: {' | '.join(problems[:NAMED])}{more}")
