"""Random changes of acme/house by an administrator, of every kind that the API has."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.jobs import run_jobs
from tests.release.house import ID, HouseClient, Wire, reference, user

DETAIL = "rest/facets/processes/views/detail"
PROCESSES = ("order", "inProcess", "inReview", "released", "inEffect", "expired")


class RandomChanges:
    """The storage may refuse some of the changes; `made` counts the others by kind."""

    def __init__(self, storage: Storage, api: ApiClient, seed: int) -> None:
        self.random, self.client = random.Random(seed), HouseClient(storage, api, Role.ADMINISTRATOR, user="cora")
        self.kinds: list[Callable[[str], Any]] = [
            self.rename, self.refer, self.move, self.version, self.step, self.draw, self.erase, self.delete, self.bulk,
            self.create,
        ]  # fmt: skip
        self.made: dict[str, int] = {}
        self.ids = [ID[name] for name in PROCESSES]
        """Processes; new ones are drafts, which take most changes."""

    def change(self, *kinds: Callable[[str], Any]) -> None:
        """Make a change of a random kind, or of a random one of these kinds, that succeeds."""
        while True:
            kind = self.random.choice(kinds or self.kinds)
            response = kind(self.random.choice(self.ids))
            if response is not None and response.status_code in (200, 201, 202):
                run_jobs()
                self.made[kind.__name__] = self.made.get(kind.__name__, 0) + 1
                return

    def _process(self, id: str, **more: Any) -> Wire:
        return {"facetName": "processes", "id": id, "type": "subProcess", **more}

    def _place(self, *ids: str) -> list[Wire]:
        parent = self.random.choice([ID["house"], *ids])
        kind = "mainProcess" if parent == ID["house"] else "subProcess"
        return [{"facetName": "processes", "id": parent, "type": kind}]

    def rename(self, id: str) -> Any:
        names = {"1033": f"Name {self.random.random()}", "1031": self.random.choice([None, "Name", "order-2"])}
        attributes = {"name": names, "purp": {"1033": f"{self.random.random()}"}}
        return self.client.update(self._process(id, attributes=attributes))

    def refer(self, id: str) -> Any:
        people = self.random.sample(["anna", "ben", "dora"], self.random.randint(0, 2))
        systems = self.random.choice([[], [reference("it", "system", "erp")]])
        related = {"systems": systems, "secondaryAuthors": [user(each) for each in people]}
        return self.client.update(self._process(id, related=related))

    def move(self, id: str) -> Any:
        return self.client.update(self._process(id, rootPath=self._place(*self.ids)))

    def version(self, id: str) -> Any:
        return self.client.post(f"release/{id}/createversion")

    def step(self, id: str) -> Any:
        offered = self.client.get(f"release/{id}/transitions").json().get("values")
        if not offered:
            return None
        transition = self.random.choice(offered)["transitionId"]
        return self.client.apply(id, transition, "?ignoreWarnings=true", {"comment": "As agreed."})

    def draw(self, id: str) -> Any:
        task = {"type": "task", "attributes": {"name": {"1033": f"Task {self.random.random()}"}}}
        items = [
            {
                "shapeInfo": {"index": index, "predecessors": [index - 1] if index else [], "lane": 0},
                "element": task,
            }
            for index in range(self.random.randint(1, 4))
        ]
        body = {"values": items, "lanes": [{"index": 0, "name": {"1033": "Lane"}}]}
        path = f"/acme/house/_api/{DETAIL}/elements/{id}/content"
        return self.client.api.put(path, body, content_type="application/json", token=self.client.token)

    def erase(self, id: str) -> Any:
        found = self.client.get(f"{DETAIL}/elements/{id}/content").json().get("elements")
        shape = found[0]["properties"]["shapeId"] if found else ""
        return self.client.post(f"{DETAIL}/elements/{id}/content/{shape}/delete") if shape else None

    def delete(self, id: str) -> Any:
        return self.client.post(f"{DETAIL}/elements/{id}/delete")

    def bulk(self, id: str) -> Any:
        purpose = {"purp": {"1033": f"Bulk {self.random.random()}"}}
        body = {"ids": self.random.sample(self.ids, 3), "operations": [{"set": {"attributes": purpose}}]}
        return self.client.post(f"{DETAIL}/bulk", body)

    def create(self, id: str) -> Any:
        names = {"name": {"1033": f"New {self.random.random()}"}}
        response = self.client.update({"type": "subProcess", "attributes": names, "rootPath": self._place(id)})
        self.ids += [each["id"] for each in response.json().get("elements", ())]
        return response
