"""A desk for tests that update elements: requests, expected responses, and the extended handbook."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils.functional import cached_property

from elements.models import ElementChange
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.expected_elements import in_order
from tests.elements.handbook import ID, TEMPLATE, wire, write_lines
from tests.factories import token_for

Body = dict[str, Any]
RESTS = "/acme/handbook/_api/rest/facets"
UNKNOWN = "ffffffff-0000-4000-8000-000000000000"
KINDS = {
    401: ("unauthorized", "volatile"),
    403: ("unauthorized", "volatile"),
    409: ("error", "dialog"),
    412: ("error", "dialog"),
}
KINDS |= {400: ("error", "inline"), 422: ("error", "inline")}
LABEL = {"1033": "Label"}
CHOICES = [{"displayNames": LABEL}, *({"key": key, "displayNames": LABEL} for key in ("defined", "isLived"))]
TABLES = (
    "element", "elementversion", "reference", "shape", "shapeflow", "lane", "bpmnsource", "elementchange",
)  # fmt: skip


def _attribute(type: str, *, by_culture: bool = False, in_released: bool = False, **more: Any) -> Body:
    attribute = {"dataType": type, "isInvariantCulture": not by_culture, **more}
    return {"displayNames": LABEL, "editableInReleased": in_released, "attribute": attribute}


def _context(facet: str, *, in_released: bool = False, **more: Any) -> Body:
    return {"displayNames": LABEL, "editableInReleased": in_released, "related": {"facet": facet, **more}}


# One attribute of every data type, and related contexts of every kind.
PROPERTIES = {
    "note": _attribute("SingleLineText", by_culture=True, in_released=True),
    "maturity": _attribute("SelectionValue", selectableValues=CHOICES),
    "channels": _attribute("MultiSelectionValue", selectableValues=CHOICES),
    "isCritical": _attribute("Boolean"),
    "begin": _attribute("DateTime"),
    "site": _attribute("Url", by_culture=True),
    "watchers": _context(
        "users", relatedTypes=["user", "userGroup"], canAddNew=True, maxOccurrence=2, in_released=True
    ),
    "measuredBy": _context("it", readOnly=True),
    "tools": _context("it", canAddNew=True),
    "nextSteps": _context("processes", canAddNew=True),
}


def extended_template() -> Body:
    template = copy.deepcopy(TEMPLATE)
    template["properties"] |= PROPERTIES
    template["types"]["subProcess"]["properties"] += PROPERTIES
    # A view without the type between these two in the tree.
    steps = {"displayNames": LABEL, "key": "Steps", "types": ["processHouse", "subProcess"], "properties": ["name"]}
    template["facets"]["processes"]["views"]["steps"] = steps
    return template


@contextmanager
def extended_handbook(filled_storage: StorageMaker, folder: Path) -> Iterator[Storage]:
    """Create acme/handbook and rival/handbook with the same ids and properties of every kind."""
    template = folder / "template.json"
    template.write_text(json.dumps(extended_template()), encoding="utf-8")
    fields = {"key": "handbook", "template": str(template), "anonymous": "read", "time_zone": "Europe/Berlin"}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage


class UpdateDesk:
    """Requests of Anna, the author of the draft `order-3`. Refused requests must not change either storage."""

    def __init__(self, storage: Storage, api: ApiClient) -> None:
        self.storage, self.api = storage, api
        self.rival = Storage.objects.get(collection__key="rival", key=storage.key)
        self.anna = token_for(storage, Role.EDITOR, user_id=UUID(ID["anna"]))

    @cached_property
    def architect(self) -> str:
        """A token that few tests need."""
        return token_for(self.storage, Role.ARCHITECT)

    def send(self, body: Any, view: str = "detail", facet: str = "processes", **options: Any) -> Any:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        options.setdefault("token", self.anna)
        options.setdefault("content_type", "application/json")
        return self.api.post(f"{RESTS}/{facet}/views/{view}/elements/", content, **options)

    def update(self, *elements: Body, **options: Any) -> list[Body]:
        """Update elements, and return the response after comparing it with operation 4."""
        response = self.send({"count": len(elements), "elements": list(elements)}, **options)
        assert response.status_code == 200, response.content
        found: list[Body] = response.json()["elements"]
        assert response.json() == {"count": len(elements), "elements": found}
        where = {key: value for key, value in options.items() if key in ("view", "facet", "token")}
        for each in found:
            assert in_order(self.read(str(each.get("versionId", each["id"])), **where)) == in_order(each)
        return found

    def read(self, name: str, view: str = "detail", facet: str = "processes", **options: Any) -> Body:
        options.setdefault("token", self.anna)
        response = self.api.get(f"{RESTS}/{facet}/views/{view}/elements/{ID.get(name, name)}", **options)
        assert response.status_code == 200, response.content
        found: Body = response.json()["elements"][0]
        return found

    def refuse(self, status: int, body: Any, *errors: str, **options: Any) -> None:
        """Compare the whole error body. `body` may be a list of elements."""
        before = self.fingerprints()
        if isinstance(body, list):
            body = {"elements": body}
        response = self.send(body, **options)
        type, output = KINDS.get(status, ("error", "volatile"))
        message = errors[0] if len(errors) == 1 else f"The request has {len(errors)} problems; nothing was changed."
        data = [{"error": error} for error in errors]
        assert response.json() == {"message": message, "output": output, "type": type, "data": data}
        assert response.status_code == status
        assert self.fingerprints() == before

    def fingerprints(self) -> list[str]:
        return [fingerprint(self.storage), fingerprint(self.rival)]


def fingerprint(storage: Storage) -> str:
    """Return a digest of all stored rows of elements."""
    tables = (
        f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM elements_{name} t)" for name in TABLES
    )
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(tables)}))")
        return str(cursor.fetchone()[0])


def order(**more: Any) -> Body:
    """Return the draft of order as a client sends it."""
    return {"id": ID["order"], "versionId": ID["order-3"], "type": "subProcess", **more}


def texts(**attributes: Any) -> Body:
    return order(attributes=attributes)


def at(place: str, text: str, name: str = "order-3", index: int = 0) -> str:
    return f"elements[{index}] {ID.get(name, name)}{place and ': ' + place}: {text}."


def changed(before: Body, after: Body, **attributes: Any) -> Body:
    """Return the expected element after a change by Anna; None removes an attribute."""
    stamp = {"changedOn": after["attributes"]["changedOn"]}
    merged = {**before["attributes"], **stamp, **attributes}
    found = {key: value for key, value in sorted(merged.items()) if value is not None}
    return {**before, "attributes": found, "related": {**before["related"], "changedBy": [wire("anna")]}}


def history(desk: UpdateDesk, version: str) -> list[tuple[str, Any, Any]]:
    with tenant_scope(desk.storage):
        rows = ElementChange.objects.filter(version_id=ID.get(version, version)).order_by("changed_on")
        return [(row.action, row.before, row.after) for row in rows]
