"""Cora, who limits elements of acme/house by permission sets."""

from __future__ import annotations

import json
from typing import Any

from tests.release.house import API, ID, HouseClient, Wire

SETS = "rest/permissions/permissionsets"


def grant(name: str, *permissions: str) -> Wire:
    return {"id": ID[name], "permissions": list(permissions)}


class Keeper(HouseClient):
    """Cora, the administrator, who changes sets."""

    def put(self, path: str, body: Any) -> Any:
        options: Any = {"content_type": "application/json", "token": self.token}
        return self.api.put(f"{API}/{path}", json.dumps(body).encode(), **options)

    def read_by_post(self, path: str) -> Any:
        return self.api.post(f"{API}/{path}", b"", content_type="application/json", token=self.token)

    def limit(self, name: str, *, mode: str = "replace", users: Any = (), groups: Any = ()) -> Wire:
        body = {"mode": mode, "users": list(users), "userGroups": list(groups)}
        response = self.put(f"{SETS}/{ID[name]}", body)
        assert response.status_code == 200, response.content
        found: Wire = response.json()
        return found

    def free(self, name: str) -> Any:
        return self.api.delete(f"{API}/{SETS}/{ID[name]}", token=self.token)
