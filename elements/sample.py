"""Generated elements to try things or to measure: a tree of processes with a fan-out of ten, each with twelve
attributes and eight references in four contexts. The same count always gives the same lines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from repository_site.core.rest.rendering import to_json

FAN_OUT = 10
USERS, SYSTEMS, TAGS, RISKS = 50, 200, 50, 100
BEGIN = datetime(2026, 1, 2, 3, 4, 5)
NO_END = {"127": "9999-12-31T00:00:00"}
WORDS_DE = ["Auftrag", "Kunde", "Lager", "Prüfung", "Freigabe", "Rechnung", "Versand", "Planung", "Bedarf", "Vertrag"]
WORDS_EN = ["order", "customer", "stock", "check", "approval", "invoice", "shipping", "planning", "demand", "contract"]

Document = dict[str, Any]


def sample_lines(count: int, seed: int = 0) -> Iterator[bytes]:
    generator = random.Random(seed)  # noqa: S311  not a secret
    for document in _documents(count, generator):
        yield to_json(document) + b"\n"


def _documents(count: int, generator: random.Random) -> Iterator[Document]:
    for number in range(USERS):
        yield _plain("users", "user", number, {"name": _both("User", number), "roleEditor": {"127": True}})
    for number in range(TAGS):
        yield _plain("tags", "tag", number, {"name": _both("Tag", number)})
    for number in range(SYSTEMS):
        yield _version("it", "system", number, {"name": _both("System", number)})
    for number in range(RISKS):
        yield _version("risks", "risk", number, {"name": _both("Risk", number)})
    for number in range(count):
        yield _process(number, count, generator)


def _process(number: int, count: int, generator: random.Random) -> Document:
    first = number * FAN_OUT + 1
    children = [_reference("processes", "subProcess", child) for child in range(first, min(first + FAN_OUT, count))]
    return {
        **_version("processes", "subProcess" if number else "mainProcess", number, _attributes(number, generator)),
        "related": {
            "owner": _some("users", "user", USERS, 1, generator),
            "risks": _some("risks", "risk", RISKS, 2, generator),
            "systems": _some("it", "system", SYSTEMS, 3, generator),
            "tagFilters": _some("tags", "tag", TAGS, 2, generator),
        },
        **({"children": children} if children else {}),
    }


def _attributes(number: int, generator: random.Random) -> Document:
    words = [generator.randrange(len(WORDS_DE)) for _ in range(12)]
    german, english = (" ".join(source[word] for word in words) for source in (WORDS_DE, WORDS_EN))
    text = {"1031": german, "1033": english}
    html = {lcid: f'<?xml version="1.0" encoding="utf-8"?><p>{line}</p>' for lcid, line in text.items()}
    return {
        "description": html,
        "name": {"1031": f"{WORDS_DE[words[0]]} {number}", "1033": f"{WORDS_EN[words[0]]} {number}"},
        "processMaturity": {"127": generator.choice(["defined", "implemented", "trained"])},
        "purp": text,
        "reasonForRevision": text,
        "scope": text,
    }


def _plain(facet: str, type: str, number: int, attributes: Document) -> Document:
    identity = _reference(facet, type, number)
    stamps = {"changedOn": _moment(number), "createdOn": _moment(0)}
    return {**identity, "creationId": identity["id"], "attributes": {**attributes, **stamps}}


def _version(facet: str, type: str, number: int, attributes: Document) -> Document:
    released = dict.fromkeys(("changedOn", "relOn", "validFrom"), _moment(number))
    stamps = {**released, "createdOn": _moment(number // 2), "validUntil": NO_END}
    return {
        **_reference(facet, type, number),
        "versionId": _guid(facet, number, version=True),
        "state": "released",
        "attributes": {**attributes, **stamps, "version": {"127": "1.0"}},
    }


def _some(facet: str, type: str, total: int, count: int, generator: random.Random) -> list[Document]:
    return [_reference(facet, type, number) for number in generator.sample(range(total), count)]


def _reference(facet: str, type: str, number: int) -> Document:
    return {"facetName": facet, "id": _guid(facet, number), "type": type}


def _guid(facet: str, number: int, version: bool = False) -> str:
    kind = sorted(["users", "tags", "it", "risks", "processes"]).index(facet) * 2 + version + 1
    return str(UUID(int=(kind << 64) + number))


def _moment(number: int) -> Document:
    return {"127": (BEGIN + timedelta(seconds=number)).isoformat()}


def _both(word: str, number: int) -> Document:
    return {"1031": f"{word} {number}", "1033": f"{word} {number}"}
