"""What is attacked: two storages of one server, whose ids and names tell them apart; and how."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repository_site import environment
from tests.release.house import ID, STATES, write_lines
from tests.server_process import Server

OWN, FOREIGN = "00000000-0000-4000-8000-", "11111111-1111-4111-8111-"
"""How the ids of the two storages begin."""
FOREIGN_NAME = "Zweitfirma"
"""In every name of the other storage."""
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "nothing_of_another_tenant",
)  # fmt: skip
# In the server's surroundings: fills both storages and tells the tokens.
FILL = """
import json, sys
from elements.transfer.importing import import_elements
from storage.contexts import find_context
from storage.provisioning import StorageRequest, provision_storage
from storage.roles import Role
from storage.tokens import issue_token
for collection, file in json.loads(sys.stdin.readline()):
    storage = provision_storage(StorageRequest(collection=collection, key="house", template="standard"))
    import_elements(storage, file)
house = find_context("acme", "house")
tokens = {each.value: issue_token(house, each.value, [each]).value for each in Role}
tokens["stranger"] = issue_token(find_context("rival", "house"), "stranger", [Role.ADMINISTRATOR]).value
print(json.dumps(tokens), flush=True)
"""
CALLERS = (
    "nobody", "stranger", "viewer", "analyzer", "editor", "approver", "architect", "administrator",
)  # fmt: skip
OUTSIDERS = ("nobody", "stranger")
# By the names of parts of addresses and queries: what there is, and in some places what only the other storage has.
KNOWN = {
    "collectionId": ["acme"],
    "facetId": ["processes", "it", "users", "storages"],
    "viewId": ["detail", "list", "tree"],
    "type": ["subProcess", "system", "user"],
    "elementId": [ID[name] for name in (*STATES, "order", "order-1", "house", "erp", "anna", "inProcess-task")]
    + [FOREIGN + ID["released"].removeprefix(OWN)],
    "shapeId": [ID["inProcess-s1"], FOREIGN + ID["inProcess-s1"].removeprefix(OWN)],
    "attributeName": ["name", "state1", "purp"],
    "relatedId": ["author", "systems", "changedBy"],
    "transitionId": ["InProcessToInReview", "InProcessToReleased", "ReleasedToRequestToExpire"],
    "cultureId": ["1033", "1031"],
    "layoutKey": ["vertical"],
    "$filter": ["Contains(name, 'o')", "state -eq released OR type -in (task, system)", "NOT IsNull(systems)"],
    "$resources": ["attributes", "related,children", "content,rootPath,versions,displayNames"],
    "$select": ["name", "name,state1,systems"],
    "$expandRelated": ["systems", "author,systems"],
    "$pageSelectionKey": [ID["released"], FOREIGN + ID["released"].removeprefix(OWN)],
    "state": ["open", "accepted"],
    "element": [ID["released"], FOREIGN + ID["released"].removeprefix(OWN)],
    "assignee": ["all", "me"],
    "stuck": ["true", "false"],
}


@dataclass(frozen=True, slots=True)
class Outcome:
    caller: str
    cases: int
    failures: list[str]
    seconds: float


class Battlefield:
    """A server with two storages: acme/house, which is attacked, and rival/house, of which nothing may be seen."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.folder = server.data_dir.parent
        own = write_lines(self.folder / "own.ndjson")
        foreign = write_lines(self.folder / "foreign.ndjson", f"{FOREIGN_NAME} ")
        foreign.write_text(foreign.read_text(encoding="utf-8").replace(OWN, FOREIGN), encoding="utf-8")
        self.tokens: dict[str, str] = json.loads(self._fill([("acme", str(own)), ("rival", str(foreign))]))
        answer = server.request("GET", "/acme/house/_api/schema", headers=self._credential("viewer"))
        assert answer[0] == 200, answer
        self.document: dict[str, Any] = answer[1]

    def attack(self, caller: str, phases: str, most: int, *more: str, forbidden: tuple[str, ...] = ()) -> Outcome:
        """With `most` cases an operation where they are made at random. No answer may hold what is of the other storage;
        to who does not belong to the attacked one, none of what is there."""
        forbidden = forbidden or ((FOREIGN, FOREIGN_NAME, OWN) if caller in OUTSIDERS else (FOREIGN, FOREIGN_NAME))
        report, document = self.folder / f"{caller}.json", self.folder / f"document-{caller}.json"
        document.write_text(json.dumps(self._with_known_values()), encoding="utf-8")
        headers = [f"{name}: {value}" for name, value in self._credential(caller).items()]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", str(document), *more),
                *("--url", f"http://127.0.0.1:{self.server.port}", "--phases", phases, "--max-examples", str(most)),
                *("--checks", ",".join(CHECKS), "--continue-on-failure", "--no-shrink", "--warnings", "off"),
                *("--generation-database", "none", "--request-timeout", "30", "--no-color"),
                *("--report", "json", "--report-json-path", str(report)),
                *(word for header in headers for word in ("--header", header)),
            ],
            cwd=environment.PROJECT_DIR,
            env={
                **os.environ,
                "PYTHONPATH": str(environment.PROJECT_DIR),
                "SCHEMATHESIS_HOOKS": "tests.attack.hooks",
                "ATTACK_FORBIDDEN": json.dumps(forbidden),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert report.exists(), done.stdout + done.stderr
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        told = [done.stdout] if found["exit_code"] or found["failures"] or found["errors"] else []
        return Outcome(caller, found["test_cases"]["generated"], told, found["running_time"])

    def _credential(self, caller: str) -> dict[str, str]:
        return {} if caller == "nobody" else {"Authorization": f"Bearer {self.tokens[caller]}"}

    def _with_known_values(self) -> dict[str, Any]:
        """The document, with names and ids that exist where it says that any will do: most requests would be 404."""
        known = {**KNOWN, "storageId": ["house"]}
        document: dict[str, Any] = json.loads(json.dumps(self.document))
        for operations in document["paths"].values():
            for operation in operations.values():
                for parameter in operation.get("parameters", ()):
                    if parameter["in"] != "header" and parameter["name"] in known:
                        parameter["schema"] = {"type": "string", "enum": known[parameter["name"]]}
        return document

    def _fill(self, files: list[tuple[str, str]]) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", FILL],
            cwd=environment.PROJECT_DIR,
            env=self.server.environ,
            input=json.dumps(files) + "\n",
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def prepare(folder: Path, port: int) -> Server:
    server = Server(folder / "var", port)
    server.environ |= {
        "REPOSITORY_BODY_LIMIT": "1000000",
        "REPOSITORY_TOKEN_RATE": "off",
        "REPOSITORY_ANONYMOUS_RATE": "off",
    }
    return server
