"""The floor: a bare WSGI program that sends the same responses from the same tables.

It has no framework, authentication or tenancy, so its cost is the least that any implementation has. It knows one
storage and a minimum of the configuration. Each run first compares its responses with those of the service.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import orjson
from psycopg_pool import ConnectionPool

from repository_site.core import environment

ZONE = ZoneInfo(environment.TIME_ZONE.read())
CULTURES = ("1031", "1033")
BATCH = 500

TYPES_SQL = """SELECT t.id::text, t.key, f.name, t.is_versioned, t.has_diagram, t.display_names
    FROM facets_elementtype t
    JOIN facets_facet f ON f.storage_id = t.storage_id AND f.id = t.facet_id WHERE t.storage_id = %s"""
COLUMNS = """e.id::text, e.type_id::text, v.id::text, v.state, e.parent_id::text, v.major, v.minor, v.changed_on,
    v.created_on, v.released_on, v.valid_from, v.valid_until, v.category, v.attributes::text"""
WIDE = f"""SELECT {COLUMNS} FROM elements_elementversion v
    JOIN elements_element e ON e.storage_id = v.storage_id AND e.id = v.element_id"""  # noqa: S608  constants of ours
PAGE_SQL = """WITH page AS MATERIALIZED (
        SELECT v.id FROM elements_elementversion v
        JOIN elements_element e ON e.storage_id = v.storage_id AND e.newest_id = v.id
        WHERE v.storage_id = %(storage)s AND e.type_id = ANY(%(types)s)
        ORDER BY v.sort_name, e.id LIMIT %(limit)s OFFSET %(offset)s)
    SELECT id::text FROM page"""
COUNT_SQL = """SELECT count(*) FROM elements_element e
    WHERE e.storage_id = %(storage)s AND e.type_id = ANY(%(types)s) AND e.newest_id IS NOT NULL"""
ONE_SQL = f"{WIDE} WHERE e.storage_id = %s AND e.id = %s AND v.id = e.newest_id"
KEYS_SQL = """SELECT v.id::text FROM elements_elementversion v
    JOIN elements_element e ON e.storage_id = v.storage_id AND e.newest_id = v.id
    WHERE v.storage_id = %(storage)s AND e.type_id = ANY(%(types)s) ORDER BY v.sort_name, e.id"""
THESE_SQL = f"{WIDE} WHERE v.storage_id = %s AND v.id = ANY(%s::uuid[])"
REFERENCES_SQL = """SELECT r.version_id::text, r.context, r.target_id::text FROM elements_reference r
    WHERE r.storage_id = %s AND r.version_id = ANY(%s::uuid[]) ORDER BY r.version_id, r.context, r.position"""
TARGETS_SQL = """SELECT e.id::text, e.type_id::text, v.id::text, v.state FROM elements_element e
    JOIN elements_elementversion v ON v.storage_id = e.storage_id AND v.id = e.newest_id
    WHERE e.storage_id = %s AND e.id = ANY(%s::uuid[])"""
CHILDREN_SQL = """SELECT e.parent_id::text, e.id::text, e.type_id::text, v.id::text, v.state FROM elements_element e
    JOIN elements_elementversion v ON v.storage_id = e.storage_id AND v.id = e.newest_id
    WHERE e.storage_id = %s AND e.parent_id = ANY(%s::uuid[]) ORDER BY e.parent_id, e.position, e.id"""
HISTORY_SQL = """SELECT v.element_id::text, e.type_id::text, v.id::text, v.state FROM elements_elementversion v
    JOIN elements_element e ON e.storage_id = v.storage_id AND e.id = v.element_id
    WHERE v.storage_id = %s AND v.element_id = ANY(%s::uuid[]) AND v.released_on IS NOT NULL
    ORDER BY v.element_id, v.major, v.minor"""
PATH_SQL = """WITH RECURSIVE above AS (
        SELECT e.id, e.parent_id, e.type_id, e.newest_id, 1 AS step FROM elements_element e
        WHERE e.storage_id = %(storage)s AND e.id = %(parent)s
        UNION ALL SELECT e.id, e.parent_id, e.type_id, e.newest_id, step + 1 FROM above
        JOIN elements_element e ON e.storage_id = %(storage)s AND e.id = above.parent_id)
    SELECT above.id::text, above.type_id::text, v.id::text, v.state FROM above
    JOIN elements_elementversion v ON v.storage_id = %(storage)s AND v.id = above.newest_id ORDER BY step"""
SHAPES_SQL = """SELECT e.id::text, e.type_id::text, v.id::text, v.state FROM elements_shape s
    JOIN elements_element e ON e.storage_id = s.storage_id AND e.id = s.element_id
    JOIN elements_elementversion v ON v.storage_id = e.storage_id AND v.id = e.newest_id
    WHERE s.storage_id = %s AND s.version_id = %s ORDER BY s.position"""
LOCK_SQL = """SELECT v.id, v.attributes FROM elements_element e
    JOIN elements_elementversion v ON v.storage_id = e.storage_id AND v.id = e.newest_id
    WHERE e.storage_id = %s AND e.id = %s FOR UPDATE OF e, v"""
WRITE_SQL = """UPDATE elements_elementversion SET attributes = %s, changed_on = %s, revision = revision + 1
    WHERE storage_id = %s AND id = %s"""
RECORD_SQL = """INSERT INTO elements_elementchange (storage_id, id, element_id, version_id, action, changed_on,
        caller_label, request_id, before, after) VALUES (%s, %s, %s, %s, 'updated', %s, 'floor', '', %s, %s)"""

Wire = dict[str, Any]
Headers = list[tuple[str, str]]


class Floor:
    """One storage. Addresses in responses start with `base`, as those of the service do."""

    def __init__(self, storage: str, base: str) -> None:
        self.storage, self.base = storage, base
        self.pool = ConnectionPool(
            os.environ["BENCHMARK_DATABASE"],
            min_size=1,
            max_size=8,
            open=True,
            # One plan for all values, as in the service. Triggers need the scope.
            kwargs={
                "prepare_threshold": 1,
                "options": f"-c plan_cache_mode=force_generic_plan -c repository.storage={storage}",
            },
        )
        with self.pool.connection() as connection:
            found = connection.execute(TYPES_SQL, [self.storage]).fetchall()
            self.types = {row[0]: row[1:] for row in found}
            self.listed = [row[0] for row in found if row[1] in ("mainProcess", "subProcess")]
            # Once: the content does not change, and the service caches totals, too.
            total = connection.execute(COUNT_SQL, {"storage": self.storage, "types": self.listed}).fetchone()
            self.total = total[0] if total else 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path, query = environ["PATH_INFO"], dict(each.split("=") for each in environ["QUERY_STRING"].split("&") if each)
        headers: Headers = [("Content-Type", "application/json")]
        if path == "/all":
            start_response("200 OK", headers)
            return self.whole_list()
        if path == "/list":
            body = self.page(int(query["page"]), int(query["size"]), headers)
        elif environ["REQUEST_METHOD"] == "GET":
            body = self.one(path[1:])
        else:
            body = self.update(path[1:], orjson.loads(environ["wsgi.input"].read()))
        headers.append(("Content-Length", str(len(body))))
        start_response("200 OK", headers)
        return [body]

    def page(self, page: int, size: int, headers: Headers) -> bytes:
        values = {"storage": self.storage, "types": self.listed, "limit": size, "offset": (page - 1) * size}
        with self.pool.connection() as connection:
            wanted = [row[0] for row in connection.execute(PAGE_SQL, values, prepare=False)]
            elements = self.elements(connection, self.rows(connection, wanted))
        headers.append(("X-Total-Count", str(self.total)))
        return orjson.dumps({"count": len(elements), "elements": elements})

    def one(self, element: str) -> bytes:
        with self.pool.connection() as connection:
            return self._one(connection, element)

    def _one(self, connection: Any, element: str) -> bytes:
        rows = connection.execute(ONE_SQL, [self.storage, element], binary=True).fetchall()
        [found] = self.elements(connection, rows)
        type = self.types[rows[0][1]]
        path = connection.execute(PATH_SQL, {"storage": self.storage, "parent": rows[0][4]}).fetchall()
        shapes = connection.execute(SHAPES_SQL, [self.storage, rows[0][2]]).fetchall() if type[3] else []
        identity = {name: found[name] for name in ("facetName", "id", "versionId", "type", "state")}
        answer = {**identity, "displayNames": type[4], "attributes": found["attributes"], "related": found["related"]}
        if "children" in found:
            answer["children"] = found["children"]
        if shapes:
            answer["content"] = [self.reference(*row) for row in shapes]
        if path:
            answer["rootPath"] = [self.reference(*row) for row in path]
        return orjson.dumps({"count": 1, "elements": [answer]})

    def update(self, element: str, changes: Wire) -> bytes:
        now = datetime.now(UTC)
        with self.pool.connection() as connection:
            version, attributes = connection.execute(LOCK_SQL, [self.storage, element]).fetchone() or ("", {})
            before = {name: attributes.get(name) for name in changes["attributes"]}
            after = {name: {**attributes.get(name, {}), **values} for name, values in changes["attributes"].items()}
            stored = orjson.dumps({**attributes, **after}).decode()
            connection.execute(WRITE_SQL, [stored, now, self.storage, version])
            record = [orjson.dumps(each).decode() for each in (before, after)]
            connection.execute(RECORD_SQL, [self.storage, uuid4(), element, version, now, *record])
            return self._one(connection, element)

    def whole_list(self) -> Iterator[bytes]:
        values = {"storage": self.storage, "types": self.listed}
        with self.pool.connection() as connection, connection.cursor("keys") as cursor:
            yield b'{"count":%d,"elements":[' % self.total
            cursor.execute(KEYS_SQL, values)
            separator = b""
            while keys := cursor.fetchmany(BATCH):
                rows = self.rows(connection, [row[0] for row in keys])
                yield separator + b",".join(map(orjson.dumps, self.elements(connection, rows)))
                separator = b","
            yield b"]}"

    def rows(self, connection: Any, versions: list[str]) -> list[Any]:
        found = {row[2]: row for row in connection.execute(THESE_SQL, [self.storage, ids(versions)], binary=True)}
        return [found[each] for each in versions]

    def elements(self, connection: Any, rows: list[Any]) -> list[Wire]:
        related: dict[str, dict[str, list[Wire]]] = {}
        found = connection.execute(REFERENCES_SQL, [self.storage, ids(row[2] for row in rows)]).fetchall()
        wanted = ids({row[2] for row in found})
        targets = {row[0]: self.reference(*row) for row in connection.execute(TARGETS_SQL, [self.storage, wanted])}
        for version, context, target in found:
            related.setdefault(version, {}).setdefault(context, []).append(targets[target])
        own = ids(row[0] for row in rows)
        history: dict[str, list[Wire]] = {}
        for version in connection.execute(HISTORY_SQL, [self.storage, own]):
            history.setdefault(version[0], []).append(self.reference(*version))
        for row in rows:
            related.setdefault(row[2], {})["releaseHistory"] = history.get(row[0], [])
        children: dict[str, list[Wire]] = {}
        for parent, *child in connection.execute(CHILDREN_SQL, [self.storage, own]):
            children.setdefault(parent, []).append(self.reference(*child))
        return [self.element(row, related[row[2]], children.get(row[0])) for row in rows]

    def element(self, row: Any, related: dict[str, list[Wire]], children: list[Wire] | None) -> Wire:
        key, type_id, version, state, _, major, minor, changed, created, released, start, end, category, stored = row
        type, facet, *_ = self.types[type_id]
        page = f"{facet}/{version}"
        attributes = {
            **orjson.loads(stored),
            "changedOn": moment(changed),
            "createdOn": moment(created),
            "gotoUrl": {lcid: f"{self.base}/{lcid}/{page}" for lcid in CULTURES},
            "isReleased": {"127": category == "published"},
            "state1": {"127": state},
            "version": {"127": f"{major}.{minor}"},
        }
        for name, value in (("relOn", released), ("validFrom", start), ("validUntil", end)):
            if value is not None:
                attributes[name] = moment(value)
        found = {"facetName": facet, "id": key, "versionId": version, "type": type, "state": state,
                 "attributes": dict(sorted(attributes.items())), "related": dict(sorted(related.items()))}  # fmt: skip
        if children:
            found["children"] = children
        return found

    def reference(self, key: str, type_id: str, version: str, state: str) -> Wire:
        type, facet, is_versioned, *_ = self.types[type_id]
        address = f"{self.base}/_api/rest/facets/{facet}/views/detail/elements/{version}"
        if is_versioned:
            return {"facetName": facet, "id": key, "versionId": version, "type": type, "state": state,
                    "expandUri": address}  # fmt: skip
        return {"facetName": facet, "id": key, "creationId": key, "type": type, "expandUri": address}


def ids(values: Iterable[str]) -> str:
    return "{" + ",".join(values) + "}"


def moment(value: datetime) -> Wire:
    return {"127": value.astimezone(ZONE).isoformat(timespec="seconds")[:19]}


def application() -> Callable[..., Iterable[bytes]]:
    import gc

    from repository_site.operations.server import keep_to_core

    keep_to_core()
    reading = Floor(os.environ["BENCHMARK_STORAGE"], os.environ["BENCHMARK_BASE"])
    writing = Floor(os.environ["BENCHMARK_WRITTEN"], os.environ["BENCHMARK_BASE"])
    gc.freeze()

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return (reading if environ["REQUEST_METHOD"] == "GET" else writing)(environ, start_response)

    return answer
