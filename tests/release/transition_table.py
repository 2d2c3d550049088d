"""Every state, transition and role (D20, D21, D82, D83) as a table, and what each row of it must do."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tests.release.house import BASE, ID, Wire

EDIT, APPROVE = "EditElement", "ApproveElement"
# Late in the evening in London, but the next day in Berlin, the zone of the storage.
NOW = datetime.fromisoformat("2026-07-01T22:30:00.25+00:00")


class TransitionRow(NamedTuple):
    key: str
    source: str
    target: str
    needs: tuple[str, ...]
    """One of these permissions."""
    asks: bool = False
    """The transition creates a task, and the element stays as it is."""


# In configured order, which is that of the specification for the first six.
TABLE = (
    TransitionRow("InProcessToInReview", "inProcess", "inReview", (EDIT,)),
    TransitionRow("InProcessToReadyForQA", "inProcess", "readyForQa", (EDIT,)),
    TransitionRow("InProcessToReadyForRelease", "inProcess", "readyForRelease", (EDIT,)),
    TransitionRow("InProcessToReleased", "inProcess", "released", (APPROVE,)),
    TransitionRow("InProcessToReleasedQA", "inProcess", "released", (APPROVE,)),
    TransitionRow("InProcessToReleasedExternal", "inProcess", "released", (APPROVE,)),
    TransitionRow("InReviewToInProcess", "inReview", "inProcess", (EDIT, APPROVE)),
    TransitionRow("InReviewToReadyForQA", "inReview", "readyForQa", (EDIT,)),
    TransitionRow("InReviewToReadyForRelease", "inReview", "readyForRelease", (EDIT,)),
    TransitionRow("ReadyForQAToInProcess", "readyForQa", "inProcess", (EDIT, APPROVE)),
    TransitionRow("ReadyForQAToReadyForRelease", "readyForQa", "readyForRelease", (EDIT,)),
    TransitionRow("ReadyForReleaseToInProcess", "readyForRelease", "inProcess", (EDIT, APPROVE)),
    TransitionRow("ReadyForReleaseToReleased", "readyForRelease", "released", (APPROVE,)),
    TransitionRow("ReleasedToRequestToExpire", "released", "requestToExpire", (EDIT,), asks=True),
    TransitionRow("InEffectToRequestToExpire", "inEffect", "requestToExpire", (EDIT,), asks=True),
)
BY_KEY = {row.key: row for row in TABLE}
KINDS = {
    401: ("unauthorized", "volatile"),
    403: ("unauthorized", "volatile"),
    404: ("error", "volatile"),
    409: ("error", "dialog"),
}


def error_body(status: int, message: str) -> Wire:
    type, output = KINDS[status]
    return {"message": message, "output": output, "type": type, "data": [{"error": message}]}


def _reference(facet: str, type: str, element: str) -> Wire:
    address = f"{BASE}/rest/facets/{facet}/views/detail/elements/{element}"
    return {"facetName": facet, "id": element, "creationId": element, "type": type, "expandUri": address}


def user_reference(name: str) -> Wire:
    return _reference("users", "user", ID[name])


def version_reference(name: str, version: str, state: str) -> Wire:
    return {
        "facetName": "processes", "id": ID.get(name, name), "versionId": ID.get(version, version),
        "type": "subProcess", "state": state,
        "expandUri": f"{BASE}/rest/facets/processes/views/detail/elements/{ID.get(version, version)}",
    }  # fmt: skip
