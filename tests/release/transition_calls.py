"""Calls and checks for tests of transitions: errors in full, stored versions, pointers and log entries."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from elements.models import Element, ElementVersion
from elements.writing.authors import Author
from elements.writing.writers import Writer
from facets.configuration import configuration_of
from release.models import LifecycleEntry
from storage.access.tokens import recognise_token
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.factories import storage_context
from tests.release.house import ID, HouseClient, Wire
from tests.release.transition_table import user_reference, version_reference

UNKNOWN = "ffffffff-0000-4000-8000-000000000000"
DETAIL = "rest/facets/processes/views/detail/elements"
# A draft is created in the afternoon and released at night, on the next day in Berlin, the zone of the storage.
AFTERNOON = datetime.fromisoformat("2026-07-01T14:00:00+00:00")
NIGHT = datetime.fromisoformat("2026-07-01T22:30:00.25+00:00")
LOCAL_AFTERNOON, LOCAL_NIGHT, TODAY = "2026-07-01T16:00:00", "2026-07-02T00:30:00.25", "2026-07-02T00:00:00"


def refusal(response: Any, status: int, type: str, output: str, *errors: str, message: str = "") -> None:
    """Check the whole body of an error."""
    data = [{"error": each} for each in errors]
    expected = {"message": message or errors[0], "output": output, "type": type, "data": data}
    assert (response.status_code, response.json()) == (status, expected)


def unreadable(response: Any, *errors: str, message: str = "") -> None:
    refusal(response, 400, "error", "inline", *errors, message=message)


def version(storage: Storage, name: str) -> Wire:
    """Return all columns of a version, except the time of the row, which the database sets (D563)."""
    with tenant_scope(storage):
        found = dict(ElementVersion.objects.values().get(id=ID.get(name, name)))
    del found["since"]
    return found


def pointers(storage: Storage, name: str) -> tuple[str, str | None]:
    """Return the newest and the published version of an element."""
    with tenant_scope(storage):
        found = Element.objects.get(id=ID.get(name, name))
        return str(found.newest_id), str(found.published_id) if found.published_id else None


def entries(storage: Storage) -> int:
    with tenant_scope(storage):
        return LifecycleEntry.objects.count()


def state(storage: Storage, name: str) -> str:
    return str(version(storage, name)["state"])


def released_draft(draft: Wire) -> Wire:
    """Return the whole element after ben has released it at night."""
    own = draft["versionId"]
    attributes = {
        **draft["attributes"],
        "changedOn": {"127": LOCAL_NIGHT}, "isReleased": {"127": True}, "relOn": {"127": LOCAL_NIGHT},
        "state1": {"127": "released"}, "validFrom": {"127": TODAY}, "version": {"127": "3.0"},
    }  # fmt: skip
    history = [("order-1", "expired"), ("order-2", "expired"), (own, "released")]
    related = {
        **draft["related"],
        "changedBy": [user_reference("ben")], "relBy": [user_reference("ben")],
        "releaseHistory": [version_reference("order", name, state) for name, state in history],
    }  # fmt: skip
    return {**draft, "state": "released", "attributes": attributes, "related": related}


def writer_of(desk: HouseClient) -> Writer:
    """Return a writer, for tests of changes between finding and locking a version."""
    caller = recognise_token(desk.token, storage_context(desk.storage))
    author = Author(caller.element_id, caller.label, "")
    return Writer(configuration_of(desk.storage), caller, ZoneInfo(desk.storage.time_zone), author)
