"""A real server with two workers, its callers, and a process that replays the lifecycles of both storages."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from repository_site.core import environment
from tests.elements.concurrent_requests import LoadAnswer, LoadClient, together
from tests.release.house import ID
from tests.server_process import Server

Body = dict[str, Any]
T = TypeVar("T")
API = "/acme/house/_api"
PROCESSES = f"{API}/rest/facets/processes/views/detail/elements"
CALLERS = 50
# Fills both storages, tells the tokens, and then lets versions end or replays the lifecycles whenever it is asked to.
KEEPER = """
import json, sys
from django.utils import timezone
from elements.models import ElementVersion
from storage.tenancy.contexts import find_context
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from storage.access.tokens import issue_token
from elements.transfer.importing import import_elements
from tests.release.house import ID, PEOPLE
from tests.release.log_check import check_lifecycles

storages = []
for collection, lines in json.loads(sys.stdin.readline()):
    storages.append(provision_storage(StorageRequest(
        collection=collection, key="house", template="standard", time_zone="Europe/Berlin")))
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
# Does what is due whenever it is told to.
CLOCK = """
import sys
from django.core.management import call_command
for line in sys.stdin:
    call_command("run_lifecycle", "acme", "house", *line.split())
    print("done", flush=True)
"""


class LoadCaller(LoadClient):
    """Nobody ever gets to see a failure of the server, or is sent away."""

    def call(self, method: str, address: str, body: Any = None, **headers: str) -> LoadAnswer:
        found = super().call(method, address, body, **headers)
        assert found.status < 500 and found.status != 429, (method, address, found)  # noqa: PT018
        return found

    def step(self, id: str, step: str, prefix: str = "release") -> LoadAnswer:
        """A transition, or `createversion`."""
        last = step if step == "createversion" else f"transitions/{step}?ignoreWarnings=true"
        return self.call("POST", f"{API}/{prefix}/{id}/{last}")

    def decide(self, task: str, decision: str) -> LoadAnswer:
        return self.call("POST", f"{API}/rest/tasks/{task}/{decision}")

    def content(self, id: str) -> list[Body]:
        found: list[Body] = self.call("GET", f"{PROCESSES}/{id}/content").body["elements"]
        return found

    def draw(self, id: str, *names: str) -> LoadAnswer:
        items = [
            {"shapeInfo": {"index": index}, "element": {"type": "task", "attributes": {"name": {"1033": name}}}}
            for index, name in enumerate(names)
        ]
        return self.call("POST", f"{PROCESSES}/{id}/content", {"values": items})

    def rename(self, id: str, name: str) -> LoadAnswer:
        return self.update({"id": id, "attributes": {"name": {"1033": name}}}, address=PROCESSES)


class ServedHouse:
    """The server, who calls it, and the process that replays the lifecycles."""

    def __init__(self, server: Server, keeper: subprocess.Popen[str], tokens: dict[str, tuple[str, str]]) -> None:
        self.server, self.keeper, self.tokens = server, keeper, tokens
        self.callers = {name: LoadCaller(server, token) for name, (token, _) in tokens.items()}
        self.architect, self.ben = self.callers["architect"], self.callers["ben"]

    def check(self) -> None:
        assert tell(self.keeper, "[]") == ""

    def end(self, *versions: str) -> None:
        """Their time has come."""
        assert tell(self.keeper, json.dumps(versions)) == ""

    def processes(self, name: str, count: int, **attributes: Any) -> list[tuple[str, str]]:
        """New drafts: their ids, and those of their versions."""
        made: list[Body] = [
            {
                "type": "subProcess",
                "attributes": {"name": {"1033": f"{name} {number}"}, **attributes},
                "rootPath": [{"id": ID["house"]}],
            }
            for number in range(count)
        ]
        answer = self.architect.update(*made, address=PROCESSES)
        assert answer.status == 200, answer.body
        return [(each["id"], each["versionId"]) for each in answer.body["elements"]]

    def take(self, id: str, *steps: str) -> Body:
        """Steps that must succeed; the element after the last."""
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
        """Of all versions, oldest first."""
        found = self.architect.call("GET", f"{PROCESSES}/{id}/versions?$resources=versions").body["elements"]
        return [each["state"] for each in found]

    def steps(self, id: str) -> list[Body]:
        found: list[Body] = self.architect.call("GET", f"{PROCESSES}/{id}/lifecycle").body["values"]
        return found

    def everything_of_the_rival(self) -> tuple[int, Any]:
        address = "/rival/house/_api/rest/facets/processes/views/detail/elements?$resources=attributes,related,content"
        return self.server.request("GET", address, headers={"Authorization": f"Bearer {self.tokens['rival'][0]}"})


def run(server: Server, code: str) -> subprocess.Popen[str]:
    """A process beside the server, on the same database."""
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
    """What it says to that."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    said: str = process.stdout.readline()
    return said.rstrip("\n")


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Each in a thread of its own, which begins when all are there."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        gate.wait()
        return call()

    return together([partial(run, call) for call in calls], threads=len(calls))
