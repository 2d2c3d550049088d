"""The jobs of all apps, which their extension objects name."""

from __future__ import annotations

from storage.extension import storage_extensions
from storage.jobs.declaring import AnyJob


def declared_jobs() -> dict[str, AnyJob]:
    """Return the jobs by their names."""
    found: dict[str, AnyJob] = {}
    for each in (each for extension in storage_extensions for each in extension.jobs):
        if found.setdefault(each.name, each) is not each:
            raise RuntimeError(f"Two jobs have the name {each.name}.")
    return found
