"""Validation rules of the tests of validation, and checks of their findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Func

from elements.models import ElementVersion, Reference
from facets.blueprint.cycles import ValidationRule
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from storage.models import Storage, StorageRevision
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, Wire

RELEASE, EXTERNAL, BY_QA = "InProcessToReleased", "InProcessToReleasedExternal", "InProcessToReleasedQA"
OWNER = "no owner is set (owner)"
REASON = "no reason for the revision is given (reasonForRevision)"
IMAGE = {
    "address": "1",
    "fullAddress": "https://x.example/1",
    "mimeType": "image/png",
    "protocol": "https",
    "title": "A",
}


def rule(property: str, *transitions: str, severity: str = "error", **more: Any) -> Wire:
    messages = {"1031": f"{property} fehlt.", "1033": f"{property} is missing."}
    return {"property": property, "severity": severity, "messages": messages, "transitions": transitions, **more}


# Properties of every kind: texts by culture, a list, a choice, a context, and columns of the version.
ASKED_FOR = ("scope", "workshopImages", "processMaturity", "systems", "validFrom", "validUntil", "stereotype")
RULES = {
    **{f"{each}Given": rule(each, EXTERNAL) for each in ASKED_FOR},
    # Only some types have the next properties.
    "vendorGiven": rule("vendor", EXTERNAL),
    "purpGiven": rule("purp", BY_QA, severity="warning", perCulture=True),
    "reviewerGiven": rule("reviewer", "ReleasedToRequestToExpire", severity="warning"),
    "scopeForQa": rule("scope", "InProcessToInReview", states=["readyForQa"]),
}  # fmt: skip


def at(text: str, name: str = "inProcess-1", type: str = "subProcess") -> str:
    return f"{type} {ID.get(name, name)}: {text}."


def found_by(response: Any, errors: Sequence[str] = (), warnings: Sequence[str] = (), message: str = "") -> None:
    """Check the whole body of the findings, errors first."""
    kind = {"output": "inline", "type": "error"} if errors else {"output": "dialog", "type": "warning"}
    hint = "" if errors else " To apply the transition anyway, send ignoreWarnings=true."
    expected = {"message": message + hint, **kind, "data": [{"error": each} for each in (*errors, *warnings)]}
    assert (response.status_code, response.json()) == (422, expected)


def renew_configuration(storage: Storage) -> None:
    """Let the next request read cultures that a test has changed; the service itself writes them only once."""
    StorageRevision.objects.filter(storage=storage).update(
        configuration_revision=Func(function="repository_new_revision")
    )


def give(
    storage: Storage, version: str, related: dict[str, list[str]] | None = None, /, **attributes: Wire | None
) -> None:
    """Set attributes and references of a version in any state; None and empty lists remove them."""
    with tenant_scope(storage):
        row = ElementVersion.objects.get(id=ID.get(version, version))
        merged = {**row.attributes, **attributes}
        row.attributes = {key: value for key, value in merged.items() if value is not None}
        row.save(update_fields=["attributes"])
        for context, targets in (related or {}).items():
            Reference.objects.filter(version=row, context=context).delete()
            for position, target in enumerate(targets):
                Reference.objects.create(version=row, context=context, position=position, target_id=ID[target])


def bare(storage: Storage, name: str = "inProcess-1") -> None:
    """Remove owner and reason, which causes two warnings."""
    give(storage, name, {"owner": []}, reasonForRevision=None)


# Rules change while the storage runs.


def configure(storage: Storage, *added: ValidationRule, without: str = "") -> None:
    with tenant_scope(storage):
        old = read_blueprint()
    kept = tuple(each for each in old.rules if each.key != without)
    change_configuration(storage, replace(old, rules=(*kept, *added)))
