"""A real server with two workers, its callers, and a process that replays the lifecycles of both storages."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from repository_site.core import environment
from tests.load_client import LoadClient, LoadResponse, together
from tests.release.house import ID, user, write_lines
from tests.server_process import Server

Body = dict[str, Any]
T = TypeVar("T")
API = "/acme/house/_api"
PROCESSES = f"{API}/rest/facets/processes/views/detail/elements"
CALLERS = 50
# Fills both storages, prints the tokens, and then ends versions or replays the lifecycles for each line of input.
KEEPER = """
import json, sys
from django.utils import timezone
from elements.models import ElementVersion
from storage.tenancy.contexts import find_context
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from storage.access.tokens import issue_token
from elements.transfer.importing import import_elements
from tests.release.house import ID, PEOPLE
from tests.release.log_check import check_lifecycles

storages = []
for collection, lines, template in json.loads(sys.stdin.readline()):
    storages.append(provision_storage(StorageRequest(
        collection=collection, key="house", template=template, time_zone="Europe/Berlin")))
    import_elements(storages[-1], lines)
context = find_context("acme", "house")
tokens = {name: issue_token(context, name, roles, user_id=ID[name]) for name, roles in PEOPLE.items()}
tokens |= {each.value: issue_token(context, each.value, [each]) for each in (Role.ARCHITECT, Role.ANALYZER, Role.VIEWER)}
tokens["rival"] = issue_token(find_context("rival", "house"), "rival", [Role.ANALYZER])
print(json.dumps({name: (each.value, f"token:{each.token.id}") for name, each in tokens.items()}), flush=True)
for line in sys.stdin:
    try:
        if ended := json.loads(line):
            with tenant_scope(storages[0]):
                ElementVersion.objects.filter(id__in=ended).update(valid_until=timezone.now())
        else:
            for storage in storages:
                check_lifecycles(storage)
        print("", flush=True)
    except Exception as problem:
        print(repr(problem), flush=True)
"""
# Runs the scheduled jobs for each line of input.
CLOCK = """
import sys
from django.core.management import call_command
for line in sys.stdin:
    call_command("run_lifecycle", "acme", "house", *line.split())
    print("done", flush=True)
"""


class LoadCaller(LoadClient):
    """A caller that accepts no server error and no throttling."""

    def call(self, method: str, address: str, body: Any = None, **headers: str) -> LoadResponse:
        found = super().call(method, address, body, **headers)
        assert found.status < 500 and found.status != 429, (method, address, found)  # noqa: PT018
        return found

    def update(self, *elements: Body) -> LoadResponse:
        return self.call("POST", PROCESSES, {"elements": list(elements)})

    def read(self, id: str) -> LoadResponse:
        return self.call("GET", f"{PROCESSES}/{id}")

    def step(self, id: str, step: str, prefix: str = "release") -> LoadResponse:
        """Apply a transition, or call `createversion`."""
        last = step if step == "createversion" else f"transitions/{step}?ignoreWarnings=true"
        return self.call("POST", f"{API}/{prefix}/{id}/{last}")

    def decide(self, task: str, decision: str, body: Any = None) -> LoadResponse:
        return self.call("POST", f"{API}/rest/tasks/{task}/{decision}", body)

    def content(self, id: str) -> list[Body]:
        found: list[Body] = self.call("GET", f"{PROCESSES}/{id}/content").body["elements"]
        return found

    def draw(self, id: str, *names: str) -> LoadResponse:
        items = [
            {"shapeInfo": {"index": index}, "element": {"type": "task", "attributes": {"name": {"1033": name}}}}
            for index, name in enumerate(names)
        ]
        return self.call("POST", f"{PROCESSES}/{id}/content", {"values": items})

    def rename(self, id: str, name: str) -> LoadResponse:
        return self.update({"id": id, "attributes": {"name": {"1033": name}}})


class ServedHouse:
    """The server, its callers, and the process that replays the lifecycles."""

    def __init__(self, server: Server, keeper: subprocess.Popen[str], tokens: dict[str, tuple[str, str]]) -> None:
        self.server, self.keeper, self.tokens = server, keeper, tokens
        self.callers = {name: LoadCaller(server, token) for name, (token, _) in tokens.items()}
        self.architect, self.ben = self.callers["architect"], self.callers["ben"]

    def check(self) -> None:
        assert tell(self.keeper, "[]") == ""

    def end(self, *versions: str) -> None:
        """Set the end of versions to now."""
        assert tell(self.keeper, json.dumps(versions)) == ""

    def processes(
        self, name: str, count: int, *, reviewers: Sequence[str] = (), **attributes: Any
    ) -> list[tuple[str, str]]:
        """Create drafts; return the ids of their elements and versions."""
        related = {"related": {"reviewer": [user(each) for each in reviewers]}} if reviewers else {}
        made: list[Body] = [
            {
                "type": "subProcess",
                "attributes": {"name": {"1033": f"{name} {number}"}, **attributes},
                "rootPath": [{"id": ID["house"]}],
                **related,
            }
            for number in range(count)
        ]
        answer = self.architect.update(*made)
        assert answer.status == 200, answer.body
        return [(each["id"], each["versionId"]) for each in answer.body["elements"]]

    def take(self, id: str, *steps: str) -> Body:
        """Take steps that must succeed; return the element after the last."""
        for step in steps:
            found = self.architect.step(id, step).element
        return found

    def tasks(self, id: str, state: str) -> list[Body]:
        address = f"{API}/rest/tasks?assignee=all&state={state}&element={id}"
        found: list[Body] = self.architect.call("GET", address).body["values"]
        return found

    def open_task(self, id: str) -> str:
        [task] = self.tasks(id, "open")
        return str(task["id"])

    def states(self, id: str) -> list[str]:
        """Return the states of all versions, oldest first."""
        found = self.architect.call("GET", f"{PROCESSES}/{id}/versions?$resources=versions").body["elements"]
        return [each["state"] for each in found]

    def steps(self, id: str) -> list[Body]:
        found: list[Body] = self.architect.call("GET", f"{PROCESSES}/{id}/lifecycle").body["values"]
        return found

    def everything_of_the_rival(self) -> tuple[int, Any]:
        address = "/rival/house/_api/rest/facets/processes/views/detail/elements?$resources=attributes,related,content"
        return self.server.request("GET", address, headers={"Authorization": f"Bearer {self.tokens['rival'][0]}"})


@contextmanager
def served_house(server: Server, template: str) -> Iterator[ServedHouse]:
    """Fill the storages of two tenants from a template; check at the end that one of them is as it was."""
    folder = server.data_dir.parent
    files = [
        (name, str(write_lines(folder / f"{name}.ndjson", prefix)), template)
        for name, prefix in (("acme", ""), ("rival", "R "))
    ]
    keeper = run(server, KEEPER)
    try:
        house = ServedHouse(server, keeper, json.loads(tell(keeper, json.dumps(files))))
        before = house.everything_of_the_rival()
        assert (before[0], before[1]["count"]) == (200, 40)
        yield house
        assert house.everything_of_the_rival() == before
        for caller in house.callers.values():
            caller.close()
    finally:
        keeper.communicate(timeout=60)


def run(server: Server, code: str) -> subprocess.Popen[str]:
    """Start a process beside the server on the same database."""
    with server.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
            cwd=environment.PROJECT_DIR,
            env=server.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def tell(process: subprocess.Popen[str], line: str) -> str:
    """Send a line and return the reply."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    said: str = process.stdout.readline()
    return said.rstrip("\n")


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run each call in a thread; all start together."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        gate.wait()
        return call()

    return together([partial(run, call) for call in calls], threads=len(calls))
