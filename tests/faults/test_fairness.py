"""An attacker's storage against a victim's: the victim is served as before, whatever the attacker does (D195)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.elements.bpmn.documents import large
from tests.faults.arena import ATTACKER, ELEMENTS, Arena, Measured, dear_filter
from tests.figures import note
from tests.scale import IS_FULL
from tests.server_process import DataFolders

pytestmark = [pytest.mark.server, pytest.mark.fault]
LIST = f"{ATTACKER}/{ELEMENTS}"
SEARCH = f"{ATTACKER}/_api/rest/search"
KINDS = ("read", "write", "page", "whole list")
# The bar: p95 of the victim while it is attacked, compared with its p95 while nobody else is active. Other programs
# disturb times, so they count at full scale only, on an idle machine, and are tried again; refusals always count.
SLOWEST = 3.0 if IS_FULL else float("inf")
# Rounds of each measurement; the median counts.
ROUNDS, ATTEMPTS = (3, 3) if IS_FULL else (1, 1)
# Seconds in which an attacker uses up its budget, and in which its last requests end.
BEGINNING, END = (4.0, 4.0) if IS_FULL else (2.0, 0.5)
Plan = list[dict[str, Any]]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Arena]:
    found = Arena(tmp_path_factory.mktemp("arena"))
    data_folders.copy(found.server.data_dir, "migrate")
    try:
        found.start()
        found.quiet = found.measure()
        yield found
    finally:
        found.server.kill()


def expensive_filters(arena: Arena) -> Plan:
    """As expensive as the limit allows, and beyond it."""
    allowed = {"connections": 24, "request": arena.request(f"{LIST}?$filter={dear_filter(10)}")}
    return [allowed, {"connections": 24, "request": arena.request(f"{LIST}?$filter={dear_filter(95)}")}]


def anonymous_filters(arena: Arena) -> Plan:
    return [{"connections": 24, "request": arena.request(f"{LIST}?$filter={dear_filter(10)}", anonymous=True)}]


def slow_readers(arena: Arena) -> Plan:
    return [{"connections": 40, "request": arena.request(LIST, anonymous=True), "rate": 2_000}]


def slow_bodies(arena: Arena) -> Plan:
    body = {"elements": [process("x" * 10_000)]}
    return [{"connections": 150, "request": arena.request(LIST, body), "rate": 1, "slow_body": True}]


def whole_lists(arena: Arena) -> Plan:
    return [{"connections": 24, "request": arena.request(LIST)}]


def many_connections(arena: Arena) -> Plan:
    return [{"connections": 200, "request": arena.request(f"{LIST}?$page=1&$pageSize=100")}]


def many_small_requests(arena: Arena) -> Plan:
    return [{"connections": 200, "request": arena.request(f"{ATTACKER}/_api/rest/info")}]


def bulk_writes(arena: Arena) -> Plan:
    return [{"connections": 16, "request": arena.request(LIST, {"elements": [process(f"x{n}") for n in range(300)]})}]


def style_writes(arena: Arena) -> Plan:
    return [
        {"connections": 24, "request": arena.request(LIST, {"elements": [process("x", "<style>a{}</style>" * 8_000)]})}
    ]


def nested_markup(arena: Arena) -> Plan:
    """Pages whose markup must be cleaned: as deep as may be written, and long."""
    nested = ("<div>" * 90 + "x" + "</div>" * 90) * 30
    address = f"{ATTACKER}/1033/processes/{arena.create(process('Nested', nested))}"
    return [{"connections": 24, "request": arena.request(address, session=True)}]


def comparisons(arena: Arena) -> Plan:
    """Pages that compare two versions with different texts."""
    element = arena.elements_of_attacker[1]
    arena.call_as_attacker(f"{ATTACKER}/_api/release/{element}/createversion", {})
    text = " ".join(f"word{number * 7919 % 1000}" for number in range(150))
    arena.call_as_attacker(LIST, {"elements": [{"id": element, "attributes": {"scope": {"1033": text, "1031": text}}}]})
    address = f"{ATTACKER}/admin/elements/element/{element}/change/?tab=versions"
    return [{"connections": 24, "request": arena.request(address, session=True)}]


def searches(arena: Arena) -> Plan:
    """A frequent word, the beginning of many words, and words that nobody has, so that similar ones are sought."""
    texts = ("order&$pageSize=1000", "p&$pageSize=1000", "ordrxy%20chekxy%20processxyng")
    return [{"connections": 16, "request": arena.request(f"{SEARCH}?q={each}", anonymous=True)} for each in texts]


def suggestions(arena: Arena) -> Plan:
    return [{"connections": 200, "request": arena.request(f"{SEARCH}/suggestions?q=p", anonymous=True)}]


def followers(arena: Arena) -> Plan:
    """Clients that wait for an event that never comes, and others that wake them with each change."""
    changes = f"{ATTACKER}/_api/rest/changes"
    cursor, page = "", arena.call_as_attacker(f"{changes}?$pageSize=1000")
    while page["next"] != cursor:
        cursor = page["next"]
        page = arena.call_as_attacker(f"{changes}?$pageSize=1000&$after={cursor}")
    waiting = f"{changes}?$wait=50&type=configuration.changed&$after={cursor}"
    return [
        {"connections": 100, "request": arena.request(waiting)},
        {"connections": 100, "request": arena.request(waiting, anonymous=True)},
        {"connections": 4, "request": arena.request(LIST, {"elements": [process("x")]})},
    ]


def bpmn_imports(arena: Arena) -> Plan:
    """Imports of a document of 5,000 tasks, which change nothing, and their exports."""
    element = arena.create(process("Large"))
    address = f"{ATTACKER}/_api/v1/bpmn/{element}"
    return [
        {"connections": 12, "request": arena.request(f"{address}?dryRun=true", large(5_000))},
        {"connections": 12, "request": arena.request(address)},
    ]


def different_words(arena: Arena) -> Plan:
    """Texts of many different words, all of which the index of the search gets."""
    texts = [" ".join(f"w{number:x}y{word:x}" for word in range(5_000)) for number in range(20)]
    return [{"connections": 16, "request": arena.request(LIST, {"elements": [process("x", text) for text in texts]})}]


def uses(arena: Arena) -> Plan:
    """Pages and responses with everything that refers to one element."""
    element = arena.elements_of_attacker[1]
    addresses = (f"{LIST}/{element}/referencedBy?$pageSize=1000", f"{ATTACKER}/1033/processes/{element}/uses")
    return [{"connections": 12, "request": arena.request(each, anonymous=True)} for each in addresses]


def process(name: str, description: str = "x") -> dict[str, Any]:
    return {"type": "subProcess", "attributes": {"name": {"1033": name}, "description": {"1033": description}}}


ATTACKS: dict[str, Callable[[Arena], Plan]] = {
    "24 connections with the most expensive filters": expensive_filters,
    "24 anonymous connections with expensive filters": anonymous_filters,
    "40 readers of whole lists that read slowly": slow_readers,
    "150 clients whose bodies trickle in": slow_bodies,
    "24 readers of whole lists": whole_lists,
    "200 connections that read pages of 100 elements": many_connections,
    "200 connections with small requests": many_small_requests,
    "16 connections that create 300 elements at once": bulk_writes,
    "24 connections that write thousands of style elements": style_writes,
    "24 connections that view nested markup": nested_markup,
    "24 connections that compare versions": comparisons,
    "48 anonymous connections with searches": searches,
    "200 anonymous connections with suggestions": suggestions,
    "200 clients that wait for changes, and changes that wake them": followers,
    "24 connections that import and export large BPMN documents": bpmn_imports,
    "24 anonymous connections that read uses": uses,
    "16 connections that write texts of many different words": different_words,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_victim_is_served_as_before(arena: Arena, name: str) -> None:
    plan = ATTACKS[name](arena)
    for attempts_left in reversed(range(ATTEMPTS)):
        quiet = [arena.measure() for _ in range(ROUNDS - 1)] or [arena.quiet]
        with arena.attack(*plan) as answered:
            time.sleep(BEGINNING)
            attacked = [arena.measure() for _ in range(ROUNDS)]
        time.sleep(END)
        quiet += [arena.measure() for _ in range(ROUNDS - 1)]
        for each in (*quiet, *attacked):
            assert (each.problems, set(each.statuses)) == ([], {200})
        factors = {kind: p95(attacked, kind) / p95(quiet, kind) for kind in KINDS}
        if max(factors.values()) <= SLOWEST or not attempts_left:
            break
    assert answered.total() > 0
    assert max(factors.values()) <= SLOWEST, (factors, answered)
    note(
        "fairness",
        name,
        victim=sum(each.statuses.total() for each in attacked),
        victim_refused=0,
        attacker_refused=f"{100 * answered['429'] // answered.total()} %",
        **{f"factor_{kind.split()[0]}": f"{factor:.1f}" for kind, factor in factors.items()},
    )


def p95(rounds: list[Measured], kind: str) -> float:
    return statistics.median(each.p95(kind) for each in rounds)


def test_nothing_is_left_behind(arena: Arena) -> None:
    """After all attacks, no request waits, no connection is held, and the attacker is served as well."""
    stuck = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'repository' AND xact_start IS NOT NULL"
    end = time.monotonic() + 60
    while arena.server.ask(stuck):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert arena.call_as_attacker(f"{LIST}?$page=1&$pageSize=1")["elements"]
    assert {arena.server.request("GET", path)[0] for path in ("/healthz", "/readyz")} == {200}
