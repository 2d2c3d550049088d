"""Generated elements to try things or to measure: a tree of processes with a fan-out of ten, each with twelve
attributes and eight references in four contexts. The same count always gives the same lines."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from elements.demo.sample_vocabulary import ACTIVITIES, DOCUMENTS, OBJECTS, RARE, UNITS, Term
from elements.demo.sample_vocabulary import RISKS as RISK_TERMS
from repository_site.core.rest.rendering import to_json

FAN_OUT = 10
USERS, SYSTEMS, TAGS, RISKS = 50, 200, 50, 100
BEGIN = datetime(2026, 1, 2, 3, 4, 5)
NO_END = {"127": "9999-12-31T00:00:00"}
# Share of processes with a rare word.
RARELY = 0.02

Document = dict[str, Any]


def sample_lines(count: int, seed: int = 0) -> Iterator[bytes]:
    generator = random.Random(seed)  # noqa: S311  not a secret
    for document in _documents(count, generator):
        yield to_json(document) + b"\n"


def _documents(count: int, generator: random.Random) -> Iterator[Document]:
    for number in range(USERS):
        yield _plain("users", "user", number, {"name": _names("User", "User", number), "roleEditor": {"127": True}})
    for number in range(TAGS):
        term = OBJECTS[number % len(OBJECTS)]
        yield _plain("tags", "tag", number, {"name": _names(f"{term.title} tag", f"{term.joined}stichwort", number)})
    for number in range(SYSTEMS):
        term = OBJECTS[number % len(OBJECTS)]
        yield _version("it", "system", number, {"name": _names(f"{term.title} system", f"{term.joined}system", number)})
    for number in range(RISKS):
        term = RISK_TERMS[number % len(RISK_TERMS)]
        yield _version("risks", "risk", number, {"name": _names(term.title, term.german, number)})
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
    thing, activity = _drawn(OBJECTS, generator), _drawn(ACTIVITIES, generator)
    (taken, made), (unit, other), (risk, danger) = (_pair(terms, generator) for terms in (DOCUMENTS, UNITS, RISK_TERMS))
    english, german = f"{thing.title} {activity.english}", f"{thing.joined}{activity.german.lower()}"
    flow = {
        "1031": f"Eingang: {taken.german}. Ergebnis: {made.german}.",
        "1033": f"Input: {taken.english}. Result: {made.english}.",
    }
    people = {
        "1031": f"Beteiligt: {unit.german}, {other.german}. Risiken: {risk.german}, {danger.german}.",
        "1033": f"Involved: {unit.english}, {other.english}. Risks: {risk.english}, {danger.english}.",
    }
    if generator.random() < RARELY:
        rare = RARE[int(generator.random() * len(RARE))]
        people = {"1031": f"{people['1031']} Siehe {rare.german}.", "1033": f"{people['1033']} See {rare.english}."}
    text = {"1031": f"{german}. {flow['1031']} {people['1031']}", "1033": f"{english}. {flow['1033']} {people['1033']}"}
    html = {lcid: f'<?xml version="1.0" encoding="utf-8"?><p>{line}</p>' for lcid, line in text.items()}
    return {
        "description": html,
        "name": _names(english, german, number),
        "processMaturity": {"127": generator.choice(["defined", "implemented", "trained"])},
        "purp": text,
        "reasonForRevision": people,
        "scope": flow,
    }


def _drawn(terms: Sequence[Term], generator: random.Random) -> Term:
    """Draw a term; the square makes the first terms the most frequent ones, as in natural texts."""
    return terms[int(generator.random() ** 2 * len(terms))]


def _pair(terms: Sequence[Term], generator: random.Random) -> tuple[Term, Term]:
    """Draw a term and another one."""
    first = int(generator.random() ** 2 * len(terms))
    return terms[first], terms[(first + 1 + int(generator.random() * (len(terms) - 1))) % len(terms)]


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


def _names(english: str, german: str, number: int) -> Document:
    return {"1031": f"{german} {number}", "1033": f"{english} {number}"}
