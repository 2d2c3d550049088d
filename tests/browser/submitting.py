"""Processes that wait for tasks, made by the API."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import Visitor
from tests.browser.stuck_task import API


def call(visitor: Visitor, token: str, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    response = visitor.page.request.fetch(f"{visitor.base}{API}{path}", method=method, headers=headers, data=body)
    assert response.ok, response.text()
    return response.json()


def submit(visitor: Visitor, token: str, transition: str) -> tuple[str, str]:
    """Make a process that waits for a task of every approver; return its id and name."""
    processes = "/facets/processes/views/detail/elements"
    parent = call(visitor, token, "GET", f"{processes}?$filter=type -eq 'subCategory'&$page=1&$pageSize=1")
    name = f"Work {transition}"
    new: dict[str, Any] = {"type": "mainProcess", "attributes": {"name": {"1031": name, "1033": name}}}
    new |= {"rootPath": [{"id": parent["elements"][0]["id"]}]}
    element = call(visitor, token, "POST", processes, {"elements": [new]})["elements"][0]["id"]
    call(visitor, token, "POST", f"/release/{element}/transitions/{transition}?ignoreWarnings=true")
    return element, name


def state_of(visitor: Visitor, token: str, element: str) -> str:
    found = call(visitor, token, "GET", f"/facets/processes/views/detail/elements/{element}")
    state: str = found["elements"][0]["state"]
    return state
