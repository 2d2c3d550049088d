"""The standard release cycle, for templates of tests that have versioned types, and versions in its states."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from elements.models import ElementVersion
from storage.models import Storage
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope

STANDARD_CYCLES: dict[str, Any] = deepcopy(load_template("standard").sections["releaseCycles"])
# The types of tests have no reviewers; tests/release/waiting has the tasks of the template.
for _state in STANDARD_CYCLES["standard"]["states"].values():
    _state.pop("task", None)


def category(state: str) -> str:
    """Return the category of a state in the standard cycle; elements without versions are static."""
    found: dict[str, dict[str, str]] = STANDARD_CYCLES["standard"]["states"]
    return found[state]["category"] if state else "static"


def set_state(storage: Storage, state: str, *versions: str) -> None:
    """Put versions into a state without the effects of a transition."""
    with tenant_scope(storage):
        ElementVersion.objects.filter(id__in=versions).update(state=state, category=category(state))
