"""The attacked server: two storages with distinguishable ids and names, and the run of the fuzzer."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from release.api.agent_viewset import TOOLS
from repository_site.core import environment
from tests.attack.agent_messages import AgentMessages
from tests.release.house import ID, STATES, write_lines
from tests.server_process import Server

EXAMPLE, OWN, FOREIGN = "00000000-0000-4000-8000-", "22222222-2222-4222-8222-", "11111111-1111-4111-8111-"
"""Prefixes of ids: of the public examples in the document, and of the two storages."""
OWN_NAME, FOREIGN_NAME = "Erstfirma", "Zweitfirma"
"""Words in every name of the one and of the other storage."""
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "nothing_of_another_tenant",
)  # fmt: skip
# Runs in the environment of the server: fills both storages and prints the tokens.
FILL = """
import json, sys
from elements.transfer.importing import import_elements
from storage.access.token_limits import TokenLimits
from storage.access.tokens import issue_token
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.contexts import find_context
for collection, file in json.loads(sys.stdin.readline()):
    storage = provision_storage(StorageRequest(collection=collection, key="house", template="standard"))
    import_elements(storage, file)
house = find_context("acme", "house")
tokens = {each.value: issue_token(house, each.value, [each]).value for each in Role}
tokens["stranger"] = issue_token(find_context("rival", "house"), "stranger", [Role.ADMINISTRATOR]).value
tokens["collection"] = issue_token(find_context("acme", "_admin"), "collection", [Role.ADMINISTRATOR]).value
agents = TokenLimits(operations=json.loads(sys.stdin.readline()))
tokens["agent"] = issue_token(house, "agent", [Role.APPROVER], limits=agents).value
print(json.dumps(tokens), flush=True)
"""
CALLERS = (
    "anonymous", "stranger", "collection", "viewer", "analyzer", "editor", "approver", "architect", "administrator",
)  # fmt: skip
AGENT = "agent"
"""A token that can send messages only, but also messages that change content."""
OUTSIDERS = ("anonymous", "stranger", "collection")
"""Callers without access to the attacked storage. The token of its collection sees the storage, but no content."""
ADMINISTRATION = "_admin"
EVIL = "https://evil.example"
MESSAGE = "sendAgentMessage"
MESSAGE_STATUSES = {200, 202, 400, 401, 403, 404}
GUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}")


# Operations of an agent that may change drafts and release them.
AGENT_OPERATIONS = {MESSAGE, *(each.operation for each in TOOLS.values())}


def _id(storage: str, name: str) -> str:
    return storage + ID[name].removeprefix(EXAMPLE)


# Values by parameter name: existing ones, and in some places ids of the other storage.
KNOWN = {
    "collectionId": ["acme"],
    "facetId": ["processes", "it", "users", "storages"],
    "viewId": ["detail", "list", "tree"],
    "type": ["subProcess", "system", "user"],
    "elementId": [_id(OWN, name) for name in (*STATES, "order", "order-1", "house", "erp", "anna", "inProcess-task")]
    + [_id(FOREIGN, "released")],
    "shapeId": [_id(OWN, "inProcess-s1"), _id(FOREIGN, "inProcess-s1")],
    "attributeName": ["name", "state1", "purp"],
    "relatedId": ["author", "systems", "changedBy"],
    "transitionId": ["InProcessToInReview", "InProcessToReleased", "ReleasedToRequestToExpire"],
    "cultureId": ["1033", "1031"],
    "layoutKey": ["vertical", "detailed", "horizontalSwimlane", "processMatrix", "graphic"],
    "$filter": ["Contains(name, 'o')", "state -eq released OR type -in (task, system)", "NOT IsNull(systems)"],
    "$resources": [
        "attributes",
        "related,children",
        "content,rootPath,versions,displayNames",
        "names,related,children",
    ],
    "$select": ["name", "name,state1,systems"],
    "$expandRelated": ["systems", "author,systems", "owner(name),children(name,version)", "content(name),author"],
    "Facet": ["processes", "it", "users"],
    "facet": ["processes", "it"],
    "View": ["detail", "tree"],
    "Lcid": ["1033", "1031"],
    "Filter": ["Contains(name, 'o')", "state -eq released"],
    "$pageSelectionKey": [_id(OWN, "released"), _id(FOREIGN, "released")],
    "state": ["open", "accepted"],
    "element": [_id(OWN, "released"), _id(FOREIGN, "released")],
    "assignee": ["all", "me"],
    "stuck": ["true", "false"],
}


@dataclass(frozen=True, slots=True)
class Outcome:
    cases: int
    wrong: int
    told: str
    """Output of the fuzzer if it found a problem, otherwise empty."""
    seconds: float


def _forbidden(caller: str) -> list[str]:
    return [FOREIGN, FOREIGN_NAME, *((OWN, OWN_NAME) if caller in OUTSIDERS else ())]


class Battlefield:
    """A server with two storages: acme/house, which is attacked, and rival/house, which must stay invisible."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.folder = server.data_dir.parent
        own = self._elements("own.ndjson", OWN, f"{OWN_NAME} ")
        foreign = self._elements("foreign.ndjson", FOREIGN, f"{FOREIGN_NAME} ")
        self.tokens: dict[str, str] = json.loads(self._fill([("acme", str(own)), ("rival", str(foreign))]))
        credential = {"Authorization": self._credential("viewer")}
        answer = server.request("GET", "/acme/house/_api/schema", headers=credential)
        assert answer[0] == 200, answer
        self.document: dict[str, Any] = answer[1]
        self.moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def attack(self, callers: Sequence[str], phases: str, most: int, *more: str, forbidden: str = "") -> Outcome:
        """Run the fuzzer with callers in turn and `most` random cases for each operation.

        No response may contain anything of the other storage, and those to callers without access nothing of this one.
        """
        storage = ADMINISTRATION if list(callers) == ["collection"] else "house"
        report, document = self.folder / "report.json", self.folder / "document.json"
        document.write_text(json.dumps(self._document_of(storage)), encoding="utf-8")
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", str(document), *more),
                *("--url", f"http://127.0.0.1:{self.server.port}", "--phases", phases, "--max-examples", str(most)),
                *("--checks", ",".join(CHECKS), "--continue-on-failure", "--no-shrink", "--warnings", "off"),
                *("--generation-database", "none", "--request-timeout", "30", "--no-color"),
                *("--report", "json", "--report-json-path", str(report)),
            ],
            cwd=environment.PROJECT_DIR,
            env={
                **os.environ,
                "PYTHONPATH": str(environment.PROJECT_DIR),
                "SCHEMATHESIS_HOOKS": "tests.attack.hooks",
                "ATTACK_CALLERS": json.dumps(
                    {self._credential(each): [forbidden] if forbidden else _forbidden(each) for each in callers}
                ),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert report.exists(), done.stdout + done.stderr
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        cases = found["test_cases"]
        is_wrong = found["exit_code"] or found["failures"] or found["errors"]
        return Outcome(
            cases["generated"], cases["with_failures"], done.stdout if is_wrong else "", found["running_time"]
        )

    def send_messages(self, caller: str, rounds: int, seed: int = 1) -> tuple[Counter[int], list[str]]:
        """Send random messages of an agent, and return the numbers of responses by status, and what was wrong."""
        numbers, wrong = Counter[int](), []
        for sent in AgentMessages(KNOWN, self.moment, seed).messages(rounds):
            headers = {"Content-Type": "application/json", "Authorization": self._credential(caller), **sent.headers}
            given = {name: value for name, value in headers.items() if value}
            status, _, answer = self._send("POST", "/acme/house/_api/mcp", given, sent.body)
            numbers[status] += 1
            for each in GUID.findall(sent.body.decode("utf-8", "replace")):
                answer = answer.replace(each, "")
            found = [
                each for each in _forbidden(caller) if each in answer and each not in sent.body.decode(errors="replace")
            ]
            if status not in MESSAGE_STATUSES or found:
                wrong.append(f"{caller}: {sent.body[:300]!r}: {status} {found} {answer[:300]}")
        return numbers, wrong

    def preflights(self) -> list[str]:
        """Send preflight requests to every address, and return those with a wrong response. The storage allows no
        origin, so no response may allow one, whatever the request asks for."""
        wrong = []
        known = {**{name: values[0] for name, values in KNOWN.items()}, "storageId": "house"}
        for path, operations in self.document["paths"].items():
            address = re.sub(r"{(\w+)}", lambda found: known.get(found[1], found[1]), path)
            for method in (*operations, "trace", "\u00e9".encode().decode("latin-1"), "x" * 5_000):
                asked = {"Origin": EVIL, "Access-Control-Request-Method": method.upper()}
                status, headers, _ = self._send("OPTIONS", address, asked)
                allows = [name for name in headers if name.lower().startswith("access-control-")]
                if status not in (401, 403, 404, 405, 431) or allows:
                    wrong.append(f"OPTIONS {address} for {method[:20]}: {status} {allows}")
        return wrong

    def _send(
        self, method: str, address: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, address, body, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def _credential(self, caller: str) -> str:
        return "" if caller == "anonymous" else f"Bearer {self.tokens[caller]}"

    def _document_of(self, storage: str) -> dict[str, Any]:
        """Return the document with existing names and ids as values; otherwise most requests would be 404."""
        points = ["1.0", "2.0", self.moment, _id(OWN, "order-1"), _id(FOREIGN, "order-1")]
        known = {**KNOWN, "storageId": [storage], "$asOf": [self.moment], "from": points, "to": points}
        document: dict[str, Any] = json.loads(json.dumps(self.document).replace(EXAMPLE, OWN))
        paths = document["paths"]
        for path in [each for each in paths if "{storageId}" in each and each.replace("{storageId}", storage) in paths]:
            # A literal address takes precedence over one with a parameter.
            del paths[path]
        operations = [each for path in paths.values() for each in path.values()]
        there = {each["operationId"] for each in operations}
        for operation in operations:
            for parameter in operation.get("parameters", ()):
                if parameter["in"] != "header" and parameter["name"] in known:
                    parameter["schema"] = {"type": "string", "enum": known[parameter["name"]]}
            for response in operation["responses"].values():
                links = response.get("links", {})
                for name in [each for each, link in links.items() if link["operationId"] not in there]:
                    del links[name]
        return document

    def _elements(self, name: str, ids: str, prefix: str) -> Path:
        file = write_lines(self.folder / name, prefix)
        file.write_text(file.read_text(encoding="utf-8").replace(EXAMPLE, ids), encoding="utf-8")
        return file

    def _fill(self, files: list[tuple[str, str]]) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", FILL],
            cwd=environment.PROJECT_DIR,
            env=self.server.environ,
            input=f"{json.dumps(files)}\n{json.dumps(sorted(AGENT_OPERATIONS))}\n",
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
