"""A stuck task in the demo storage, for browser tests and pictures."""

from __future__ import annotations

import json
from typing import Any

from tests.browser.conftest import DEMO
from tests.server_process import Server

API = f"{DEMO}/_api/rest"


def stuck_request(site: Server, token: str) -> str:
    """Request the end of a product whose owner is no longer active."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(method: str, path: str, body: str | None = None) -> Any:
        status, answer = site.request(method, f"{API}{path}", body, headers)
        assert status == 200, answer
        return answer

    found = call("GET", "/facets/products/views/detail/elements?$filter=name%20-eq%20'Cargo%20bike'")["elements"][0]
    owner = found["related"]["owner"][0]["id"]
    call("POST", f"/release/{found['id']}/transitions/ReleasedToRequestToExpire?ignoreWarnings=true")
    inactive = {"id": owner, "type": "user", "attributes": {"roleInactive": {"127": True}}}
    call("POST", "/facets/users/views/detail/elements", json.dumps({"elements": [inactive]}))
    return str(found["id"])
