"""The standard release cycle, for templates of tests that have versioned types, and versions in its states."""

from __future__ import annotations

from typing import Any

from elements.models import ElementVersion
from storage.models import Storage
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope

STANDARD_CYCLES: dict[str, Any] = load_template("standard").sections["releaseCycles"]


def category(state: str) -> str:
    """What the standard cycle says of a state; elements without versions have none."""
    found: dict[str, dict[str, str]] = STANDARD_CYCLES["standard"]["states"]
    return found[state]["category"] if state else "static"


def set_state(storage: Storage, state: str, *versions: str) -> None:
    """Put versions into a state as if they had come there, without what goes with a transition."""
    with tenant_scope(storage):
        ElementVersion.objects.filter(id__in=versions).update(state=state, category=category(state))
