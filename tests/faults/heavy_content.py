"""Content that exceeds every limit, written past them, and the memory that a worker needs to answer for it."""

from __future__ import annotations

import contextlib
import http.client
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server_process import Server, free_port

STORAGE = "/acme/heavy"
CHAIN, EXPANDED, DISTINCT, RISKS = 2_000, 2_500, 50, 60
VIEWS = f"{STORAGE}/_api/rest/facets"
PROCESSES, DETAIL = f"{VIEWS}/processes/views/tree/elements", f"{VIEWS}/processes/views/detail/elements"
# Runs in the environment of the server. Rows are written with SQL: no limit is checked.
FILL = """
from django.db import connection
from storage.access.tokens import issue_token
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.contexts import find_context
from storage.tenancy.scope import tenant_scope
storage = provision_storage(StorageRequest(collection="acme", key="heavy", anonymous="read"))

def ids(kind, number):
    return f"md5('{kind}' || {number})::uuid", f"md5('version of {kind}' || {number})::uuid"

def insert(cursor, type, kind, count, attributes, parent="NULL::uuid", versioned=True):
    attributes = attributes.replace("{kind}", kind)
    element, version = ids(kind, "n") if versioned else ids(kind, "n")[:1] * 2
    state = "'released', 'published', 1, 0" if versioned else "'', 'static', NULL::int, NULL::int"
    cursor.execute(f\"\"\"INSERT INTO elements_element (id, creation_id, type_id, parent_id, position, newest_id, published_id)
        SELECT {element}, {element}, (SELECT id FROM facets_elementtype WHERE key = %s), {parent}, 0, {version}, {version}
        FROM generate_series(1, {count}) n\"\"\", [type])
    cursor.execute(f\"\"\"INSERT INTO elements_elementversion (id, element_id, state, category, major, minor, stereotype,
            attributes, sort_name, created_on, changed_on)
        SELECT {version}, {element}, {state}, '', {attributes}, '{kind} ' || lpad(n::text, 9, '0'),
            now(), now() FROM generate_series(1, {count}) n\"\"\")

def refer(cursor, owner, context, target, count):
    cursor.execute(f\"\"\"INSERT INTO elements_reference (id, version_id, context, position, target_id)
        SELECT gen_random_uuid(), {owner}, '{context}', n, {target} FROM generate_series(1, {count}) n\"\"\")

NAME = "jsonb_build_object('name', jsonb_build_object('1033', '{kind} ' || n))"
with tenant_scope(storage), connection.cursor() as cursor:
    insert(cursor, "subProcess", "chain", CHAIN, NAME,
        "CASE WHEN n > 1 THEN md5('chain' || (n - 1))::uuid END")
    insert(cursor, "system", "system", DISTINCT, NAME)
    insert(cursor, "tag", "tag", EXPANDED, NAME, versioned=False)
    insert(cursor, "subProcess", "expanded", 2, NAME)
    # One process refers to the same system 2,500 times, another to fifty systems; each has 2,500 tags.
    refer(cursor, ids("expanded", 1)[1], "systems", ids("system", 1)[0], EXPANDED)
    refer(cursor, ids("expanded", 2)[1], "systems", ids("system", "n")[0], DISTINCT)
    for number in range(1, DISTINCT + 1):
        refer(cursor, ids("system", number)[1], "tagFilters", ids("tag", "n")[0], EXPANDED)
    insert(cursor, "risk", "risk", RISKS,
        "jsonb_build_object('name', jsonb_build_object('1033', 'Risk ' || n), 'description', jsonb_build_object('1033',"
        " '<?xml version=\\"1.0\\" encoding=\\"utf-8\\"?><p>' || repeat('0123456789abcdef', 500000) || n || '</p>'))")
    cursor.execute("SELECT md5('expanded1')::uuid, md5('expanded2')::uuid, md5('chain' || %s)::uuid", [CHAIN])
    found = cursor.fetchone()
    cursor.execute("ANALYZE elements_element, elements_elementversion, elements_reference")
print(issue_token(find_context("acme", "heavy"), "attacker", [Role.ARCHITECT]).value, *found)
"""


@dataclass(frozen=True, slots=True)
class HeavyOutcome:
    status: int
    size: int
    """Bytes of the response after decompression."""
    text: str
    """Its beginning."""
    headers: dict[str, str]
    growth: float
    """Megabytes that the worker needed at most, over what it had before."""


class HeavyInstallation:
    """A server with one worker, whose memory is measured."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder / "var", free_port())
        self.server.environ |= {
            "REPOSITORY_BODY_LIMIT": str(10 * 1024 * 1024),
            "REPOSITORY_STATEMENT_TIMEOUT": "120",
        }
        self.token = self.repeated = self.distinct = self.deepest = ""

    def fill(self) -> None:
        code = FILL
        for name in ("CHAIN", "EXPANDED", "DISTINCT", "RISKS"):
            code = re.sub(rf"\b{name}\b", str(globals()[name]), code)
        done = self.server.manage("shell", "--no-imports", "-c", code)
        assert done.returncode == 0, done.stderr
        self.token, self.repeated, self.distinct, self.deepest = done.stdout.split()

    def measure(self, method: str, path: str, body: bytes | None = None, **headers: str) -> HeavyOutcome:
        """Send a request, read all of its response, and return how much the worker grew meanwhile."""
        [worker] = self.server.workers()
        before = worker.memory_info().rss
        self.server.forget_peak_memory()
        given = {"Accept-Encoding": "gzip", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        with contextlib.closing(connection):
            connection.request(method, path, body, given)
            response = connection.getresponse()
            size, beginning = 0, b""
            for piece in _unpacked(response):
                size += len(piece)
                beginning = (beginning + piece)[:2_000] if len(beginning) < 2_000 else beginning
            growth = (self.server.peak_memory() - before) / 1024**2
            names = {name.lower(): value for name, value in response.headers.items()}
            return HeavyOutcome(response.status, size, beginning.decode("utf-8", "replace"), names, growth)

    def read(self, path: str) -> tuple[int, int]:
        """Return the status and the size of a response. Several threads can call this at the same time."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            return response.status, sum(len(piece) for piece in iter(lambda: response.read(256 * 1024), b""))

    def write(self, path: str, body: bytes, **headers: str) -> HeavyOutcome:
        return self.measure("POST", path, body, Authorization=f"Bearer {self.token}", **headers)

    def ask(self, path: str) -> Any:
        return self.server.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})


def _unpacked(response: http.client.HTTPResponse) -> Iterator[bytes]:
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if response.headers.get("Content-Encoding") == "gzip" else None
    while piece := response.read1(256 * 1024):
        yield unpack.decompress(piece) if unpack else piece
