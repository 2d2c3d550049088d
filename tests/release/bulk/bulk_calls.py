"""Requests of bulk changes in acme/house, and their reports."""

from __future__ import annotations

from typing import Any

from tests.release.house import ID, STATES, HouseClient, Wire

BULK = "rest/facets/processes/views/detail/bulk"
ALL_STATES = [ID[each] for each in STATES]


def bulk(client: HouseClient, *operations: Wire, status: int = 200, **body: Any) -> Wire:
    """Return the report of a bulk change, by default of the process in process."""
    if "filter" not in body:
        body.setdefault("ids", [ID["inProcess"]])
    response = client.post(BULK, {**body, "operations": list(operations)})
    assert response.status_code == status, response.content
    [report] = response.json()["values"]
    found: Wire = report
    return found


def report_of(client: HouseClient, id: str, query: str = "") -> Wire:
    response = client.get(f"{BULK}/{id}{query}")
    assert response.status_code == 200, response.content
    found: Wire = response.json()["values"][0]
    return found


def numbers(report: Wire) -> tuple[int, int, int]:
    return report["changed"], report["unchanged"], report["refused"]


def reasons(report: Wire) -> dict[str, list[str]]:
    known = {value: name for name, value in ID.items()}
    return {known.get(each["id"], each["id"]): each["reasons"] for each in report["refusals"]}
