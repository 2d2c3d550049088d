"""Many concurrent writers against a real server with two workers: nothing is lost, duplicated or half written (D15,
D17, D19).

One server serves the whole file, and each test creates what it needs. A rival storage with the same ids stays
unchanged.
"""

from __future__ import annotations

import copy
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clustered_server import loaded_server
from tests.elements.handbook import ID, TEMPLATE, write_lines
from tests.load_client import LoadClient, LoadResponse, statuses, together
from tests.scale import only_at_full_scale
from tests.server_process import DataFolders, Server
from tests.tags import version_tag

pytestmark = [pytest.mark.server, pytest.mark.long, pytest.mark.on_cluster, pytest.mark.own_cluster]
Body = dict[str, Any]
FACETS = "/acme/handbook/_api/rest/facets"
PROCESSES, SYSTEMS = f"{FACETS}/processes/views/detail/elements", f"{FACETS}/it/views/detail/elements"
FIELDS = [f"field{number}" for number in range(12)]
CULTURES = ("1031", "1033")
LABEL = {"1033": "Label"}
PLACES_TAKEN_TWICE = """
    SELECT count(*) FROM (
        SELECT position FROM elements_element WHERE parent_id = '{0}' GROUP BY position HAVING count(*) > 1
        UNION ALL SELECT position FROM elements_shape JOIN elements_elementversion v
            ON v.id = version_id AND v.storage_id = elements_shape.storage_id WHERE v.element_id = '{0}' GROUP BY position HAVING count(*) > 1) found
"""

DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


FILL = """
from io import StringIO
from django.core.management import call_command
quiet = {"stdout": StringIO(), "stderr": StringIO()}
for collection in ("acme", "rival"):
    call_command("provision_storage", collection, "handbook", template="FOLDER/template.json", anonymous="read", **quiet)
    call_command("import_storage", collection, "handbook", f"FOLDER/{collection}.ndjson", **quiet)
call_command("issue_token", "acme", "handbook", "--name", "load", "--role", "architect")
"""


def template(*more: str) -> Body:
    """Return the handbook's template with texts to write (one for each writer), and contexts that create elements or
    accept any."""
    found = copy.deepcopy(TEMPLATE)
    text = {"displayNames": LABEL, "attribute": {"dataType": "SingleLineText"}}
    added: Body = dict.fromkeys((*FIELDS, *more), text)
    added["tools"] = {"displayNames": LABEL, "related": {"facet": "it", "canAddNew": True}}
    added["nextSteps"] = {"displayNames": LABEL, "related": {"facet": "processes"}}
    found["properties"] |= added
    found["types"]["subProcess"]["properties"] += list(added)
    return found


def under(element: str, parent: str) -> Body:
    return {"id": element, "rootPath": [{"id": parent}]}


class ElementLoadClient(LoadClient):
    """Client of an architect who writes elements of the handbook."""

    def update(self, *elements: Body, address: str = PROCESSES, **headers: str) -> LoadResponse:
        return self.call("POST", address, {"elements": list(elements)}, **headers)

    def read(self, element: str, address: str = PROCESSES) -> LoadResponse:
        return self.call("GET", f"{address}/{element}")

    def process(self, name: str, parent: str = ID["sales"]) -> str:
        return str(self.processes(name, count=1, parent=parent)[0])

    def processes(self, name: str, count: int, parent: str = ID["sales"]) -> list[str]:
        return self.ids(self.update(*(process(f"{name} {number}", parent) for number in range(count))))

    def systems(self, name: str, count: int) -> list[str]:
        made = ({"type": "system", "attributes": named(f"{name} {number}")} for number in range(count))
        return self.ids(self.update(*made, address=SYSTEMS))

    def ids(self, response: LoadResponse) -> list[str]:
        assert response.status == 200, response.body
        return [each["id"] for each in response.body["elements"]]


def named(text: str) -> Body:
    return {"name": {"1033": text}}


def process(name: str, parent: str, **more: Any) -> Body:
    return {"type": "subProcess", "attributes": named(name), "rootPath": [{"id": parent}], **more}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("load")


@pytest.fixture(scope="module")
def server(folder: Path, data_folders: DataFolders) -> Iterator[Server]:
    with loaded_server(folder, data_folders) as server:
        yield server


@pytest.fixture(scope="module")
def desk(server: Server, folder: Path) -> Iterator[ElementLoadClient]:
    (folder / "template.json").write_text(json.dumps(template()))

    for collection, rename in (("acme", ""), ("rival", "Rival ")):
        write_lines(folder / f"{collection}.ndjson", rename)
    filled = server.manage("shell", "--no-imports", "-c", FILL.replace("FOLDER", str(folder)))
    assert filled.returncode == 0, filled.stderr
    rival = "/rival/handbook/_api/rest/facets/processes/views/reporting/elements"
    before = server.request("GET", rival)
    assert (before[0], before[1]["count"]) == (200, 2)
    desk = ElementLoadClient(server, filled.stdout.strip())
    yield desk
    desk.close()
    assert server.request("GET", rival) == before


def test_one_of_a_hundred_writers_with_the_same_tag_succeeds(desk: ElementLoadClient) -> None:
    element = desk.process("Wanted")
    tag = desk.read(element).etag
    assert tag is not None

    def write(number: int) -> LoadResponse:
        return desk.update({"id": element, "attributes": {"scope": {"1033": str(number)}}}, If_Match=tag)

    answers = together([partial(write, number) for number in range(100)], threads=100)
    found = statuses(answers)
    # On a busy machine some wait for so long that they are refused before they are looked at.
    refused = found.pop(429, 0)
    assert found == {200: 1, 412: 99 - refused}
    [number] = [number for number, answer in enumerate(answers) if answer.status == 200]
    stored = desk.read(element)
    assert stored.element["attributes"]["scope"] == {"1033": str(number)}
    assert stored.etag is not None
    assert version_tag(stored.etag) == answers[number].etag != version_tag(tag)
    assert desk.call("GET", f"{PROCESSES}/{element}/history").body["count"] == 2


def test_one_key_sent_fifty_times_at_once_creates_one_element(desk: ElementLoadClient) -> None:
    parent = desk.process("Keyed")
    made = partial(desk.update, process("Once", parent), Idempotency_Key="once")
    answers = together([made] * 50, threads=50)
    assert statuses(answers) == {200: 50}
    assert [each for each in answers if each != answers[0]] == []
    children = desk.call("GET", f"{PROCESSES}/{parent}/children").body["elements"]
    assert [each["id"] for each in children] == [answers[0].element["id"]]


def test_writers_of_different_values_of_an_element_lose_none(desk: ElementLoadClient) -> None:
    """Each writer repeatedly writes a value of its own and a value that all share."""
    element, rounds = desk.process("Shared"), 3
    slots = list(itertools.product(FIELDS, CULTURES))

    def write(name: str, culture: str) -> list[int]:
        found = []
        for number in range(rounds):
            values = {name: {culture: str(number)}, "scope": {"1033": f"{name} {culture} {number}"}}
            found.append(desk.update({"id": element, "attributes": values}).status)
        return found

    assert together([partial(write, *slot) for slot in slots]) == [[200] * rounds] * len(slots)
    stored = desk.read(element).element["attributes"]
    assert [stored[name][culture] for name, culture in slots] == [str(rounds - 1)] * len(slots)
    changes = desk.call("GET", f"{PROCESSES}/{element}/history?$pageSize=1000").body["values"][:-1]
    steps = [(each["before"]["attributes"], each["after"]["attributes"]) for each in reversed(changes)]
    assert len(steps) == len(slots) * rounds
    for slot in (*(f"{name}[{culture}]" for name, culture in slots), "scope[1033]"):
        chain = [(before[slot], after[slot]) for before, after in steps if slot in after]
        assert len(chain) == (len(steps) if slot == "scope[1033]" else rounds)
        # In the order of the history, each change begins with the values that the one before has left.
        assert [before for before, _ in chain] == [None, *(after for _, after in chain[:-1])]
    assert chain[-1][1] == stored["scope"]["1033"]


def test_moves_that_would_form_a_cycle_together(desk: ElementLoadClient) -> None:
    """Each move is valid by itself; of two, one succeeds, of three, two."""
    rings = [desk.processes(f"Ring {number}", 2 + number % 2) for number in range(12)]
    for _ in range(3):
        moves = [
            partial(desk.update, under(element, ring[(place + 1) % len(ring)]))
            for ring in rings
            for place, element in enumerate(ring)
        ]
        answers = iter(together(moves))
        for ring in rings:
            assert statuses([next(answers) for _ in ring]) == {200: len(ring) - 1, 422: 1}
        for element in itertools.chain(*rings):
            path = [each["id"] for each in desk.read(element).element["rootPath"]]
            assert path[-1] == ID["house"]
        assert desk.update(*(under(each, ID["sales"]) for ring in rings for each in ring)).status == 200


def test_children_created_at_once_have_different_positions(desk: ElementLoadClient) -> None:
    parent = desk.process("Parent")
    made = together([partial(desk.processes, f"Child {number}", 2, parent) for number in range(40)])
    children = [each["id"] for each in desk.call("GET", f"{PROCESSES}/{parent}/children").body["elements"]]
    assert sorted(children) == sorted(itertools.chain(*made))
    # Elements of one request are together, in its order.
    assert all(children[children.index(first) + 1] == second for first, second in made)
    assert desk.server.ask(PLACES_TAKEN_TWICE.format(parent)) == 0


def test_siblings_that_move_at_once_stay_in_one_order(desk: ElementLoadClient) -> None:
    parent = desk.process("Ordered")
    made = desk.processes("Sibling", 12, parent)
    positions: list[Any] = [0, 5, {"after": made[0]}, {"before": made[1]}]
    moves = [{"id": each, "position": position} for each in made[2:] for position in positions]
    assert statuses(together([partial(desk.update, each) for each in moves], threads=20)) == {200: len(moves)}
    found = [each["id"] for each in desk.read(parent).element["children"]]
    assert sorted(found) == sorted(made)
    # Each of them went to one of these two at last, or before the others; nobody was lost on the way.
    desk.update({"id": made[0], "position": 0})
    assert [each["id"] for each in desk.read(parent).element["children"]] == [
        made[0],
        *(each for each in found if each != made[0]),
    ]


def test_shapes_drawn_at_once_all_exist(desk: ElementLoadClient) -> None:
    owner = desk.process("Drawn")
    address = f"{PROCESSES}/{owner}/content"

    def draw(number: int) -> list[str]:
        items = [
            {
                "shapeInfo": {"index": index, "predecessors": [index - 1] if index else []},
                "element": {"type": "task", "attributes": named(f"Task {number}.{index}")},
            }
            for index in range(3)
        ]
        answer = desk.call("POST", address, {"values": items})
        assert answer.status == 200, answer.body
        return [each["id"] for each in answer.body["values"]]

    drawn = together([partial(draw, number) for number in range(30)])
    content = {each["properties"]["shapeId"]: each for each in desk.call("GET", address).body["elements"]}
    assert sorted(content) == sorted(itertools.chain(*drawn))
    for shapes in drawn:
        before = [
            [each["properties"]["shapeId"] for each in content[shape]["properties"].get("predecessors", [])]
            for shape in shapes
        ]
        assert before == [[], [shapes[0]], [shapes[1]]]
    assert desk.server.ask(PLACES_TAKEN_TWICE.format(owner)) == 0


def row_of(desk: ElementLoadClient, owner: str) -> list[str]:
    """Return the names of the shapes in their order, and check that each has the one before as its predecessor."""
    content = desk.call("GET", f"{PROCESSES}/{owner}/content").body["elements"]
    shapes = [each["properties"]["shapeId"] for each in content]
    before = [[one["properties"]["shapeId"] for one in each["properties"]["predecessors"]] for each in content]
    assert before == [[], *([each] for each in shapes[:-1])][: len(shapes)]
    return [each["attributes"]["name"]["1033"] for each in content]


def tasks_in_a_row(first: str, *names: str) -> list[Body]:
    """Return items for a stored shape and for new tasks behind it."""
    items: list[Body] = [{"shapeInfo": {"index": 0, "id": first}}]
    for index, name in enumerate(names, 1):
        info = {"index": index, "predecessors": [index - 1]}
        items.append({"shapeInfo": info, "element": {"type": "task", "attributes": named(name)}})
    return items


def test_one_of_many_replacements_with_the_same_tag_succeeds(desk: ElementLoadClient) -> None:
    owner = desk.process("Replaced")
    _, [shape] = drawn_tasks(desk, owner, 1)
    tag = desk.read(owner).etag
    assert tag is not None
    address = f"{PROCESSES}/{owner}/content"
    bodies = [{"values": tasks_in_a_row(shape, f"{number} a", f"{number} b")} for number in range(20)]
    answers = together([partial(desk.call, "PUT", address, each, If_Match=tag) for each in bodies], threads=20)
    assert statuses(answers) == {200: 1, 412: 19}
    [number] = [number for number, answer in enumerate(answers) if answer.status == 200]
    assert row_of(desk, owner) == ["Task 0", f"{number} a", f"{number} b"]


def test_replacements_and_drawings_follow_each_other(desk: ElementLoadClient) -> None:
    """Whichever comes last: a replacement leaves its own shapes, and drawings after it add theirs as a whole."""
    owner = desk.process("Redrawn")
    _, [shape] = drawn_tasks(desk, owner, 1)
    address = f"{PROCESSES}/{owner}/content"
    calls = []
    for number in range(20):
        calls.append(
            partial(desk.call, "PUT", address, {"values": tasks_in_a_row(shape, f"{number} a", f"{number} b")})
        )
        calls.append(
            partial(desk.call, "POST", address, {"values": tasks_in_a_row(shape, f"{number} c", f"{number} d")})
        )
    answers = together(calls)
    assert statuses(answers) == {200: 40}, [each.body for each in answers if each.status != 200]
    content = desk.call("GET", address).body["elements"]
    names = {each["properties"]["shapeId"]: each["attributes"]["name"]["1033"] for each in content}
    # The last replacement, then the drawings after it; each task has the one before it in its own request.
    first, *pairs = [(names[each["properties"]["shapeId"]], before_of(each, names)) for each in content]
    assert first == ("Task 0", [])
    for one, two in zip(pairs[::2], pairs[1::2], strict=True):
        number = one[0].split()[0]
        letters = ("a", "b") if one == pairs[0] else ("c", "d")
        assert (one, two) == (
            (f"{number} {letters[0]}", ["Task 0"]),
            (f"{number} {letters[1]}", [f"{number} {letters[0]}"]),
        )
    assert desk.server.ask(PLACES_TAKEN_TWICE.format(owner)) == 0
    # Elements of replaced shapes are gone.
    assert desk.server.ask(f"SELECT count(*) FROM elements_element WHERE parent_id = '{owner}'") == len(content)


def before_of(shape: Body, names: dict[str, str]) -> list[str]:
    return [names[each["properties"]["shapeId"]] for each in shape["properties"]["predecessors"]]


def test_diagrams_that_show_each_other_are_replaced_at_once(desk: ElementLoadClient) -> None:
    """No request waits for the other: the shown processes are read, and only the diagrams change."""
    pair = desk.processes("Showing", 2)
    calls = []
    for one, other in (pair, pair[::-1]):
        address = f"{PROCESSES}/{one}/content"
        drawn = {"values": [{"shapeInfo": {"index": 0}, "element": {"id": other}}]}
        [found] = desk.call("POST", address, drawn).body["values"]
        for number in range(20):
            box = {"x": number, "y": 0, "width": 10, "height": 10}
            info = {"index": 0, "id": found["id"], "bounds": box}
            calls.append(
                partial(desk.call, "PUT", address, {"values": [{"shapeInfo": info, "element": {"id": other}}]})
            )
    before = desk.server.ask(DEADLOCKS)
    answers = together(calls[::2] + calls[1::2])
    assert statuses(answers) == {200: 40}
    assert desk.server.ask(DEADLOCKS) == before


def test_nothing_refers_to_deleted_elements(desk: ElementLoadClient) -> None:
    """The first request decides, about elements and about what is deleted with a shape."""
    systems, sources = desk.systems("Wanted and unwanted", 12), desk.processes("Source", 24)
    owner = desk.process("Owner")
    tasks, shapes = drawn_tasks(desk, owner, 12)

    def refer(source: str, system: str, task: str) -> LoadResponse:
        related = {"systems": [{"id": system}], "tools": [{"id": system}, {"id": system}]}
        first = desk.update({"id": source, "related": related})
        return first if first.status != 200 else desk.update({"id": source, "related": {"nextSteps": [{"id": task}]}})

    calls: list[Callable[[], LoadResponse]] = []
    for place, (system, task, shape) in enumerate(zip(systems, tasks, shapes, strict=True)):
        calls.append(partial(refer, sources[place], system, task))
        calls.append(partial(desk.call, "DELETE", f"{SYSTEMS}/{system}"))
        calls.append(partial(refer, sources[place + 12], system, task))
        calls.append(partial(desk.call, "POST", f"{PROCESSES}/{owner}/content/{shape}/delete"))
        calls.append(partial(desk.call, "POST", f"{PROCESSES}/{task}/delete"))
    answers = together(calls)
    assert statuses(answers).keys() <= {200, 404, 409, 422}, [each.body for each in answers if each.status >= 500]
    there = {each for each in systems if desk.read(each, SYSTEMS).status == 200}
    there |= {each for each in tasks if desk.read(each).status == 200}
    referred = set()
    for source in sources:
        related = desk.read(source).element["related"]
        referred |= {each["id"] for name in ("systems", "tools", "nextSteps") for each in related.get(name, [])}
    assert referred == there
    content = desk.call("GET", f"{PROCESSES}/{owner}/content").body["elements"]
    assert {each["id"] for each in content} == there & set(tasks)


def drawn_tasks(desk: ElementLoadClient, owner: str, count: int) -> tuple[list[str], list[str]]:
    address = f"{PROCESSES}/{owner}/content"
    items = [
        {"shapeInfo": {"index": index}, "element": {"type": "task", "attributes": named(f"Task {index}")}}
        for index in range(count)
    ]
    assert desk.call("POST", address, {"values": items}).status == 200
    content = desk.call("GET", address).body["elements"]
    return [each["id"] for each in content], [each["properties"]["shapeId"] for each in content]


def test_requests_that_need_the_same_elements_in_another_order(desk: ElementLoadClient) -> None:
    """In one request, by references to each other, by places below each other: all of them finish."""
    pair = desk.processes("Pair", 2)
    left, right = ({"id": each, "attributes": {"scope": {"1033": "again"}}} for each in pair)
    calls = [partial(desk.update, left, right), partial(desk.update, right, left)] * 40
    for one, other in (pair, pair[::-1]):
        calls += [partial(desk.update, {"id": one, "related": {"nextSteps": [{"id": other}]}})] * 20
        calls += [partial(desk.update, {"id": one}, process("Child", other))] * 20
    assert statuses(together(calls[::2] + calls[1::2])) == {200: 160}


@only_at_full_scale
def test_the_configuration_changes_while_elements_are_written(desk: ElementLoadClient, folder: Path) -> None:
    """The first request decides whether a value is stored or its attribute removed."""
    elements, stop = desk.processes("Configured", 3), threading.Event()
    for name, more in (("with", ["extra"]), ("without", [])):
        (folder / f"{name}.json").write_text(json.dumps(template(*more)))

    def write(element: str) -> set[int]:
        found = set()
        for value in itertools.cycle(["kept", None, None, None]):
            values = {"scope": {"1033": value}, "extra": {"1033": value}}
            found.add(desk.update({"id": element, "attributes": values}).status)
            # Few threads, so that the commands get their share of the processor.
            if stop.wait(0.02):
                return found
        return found

    stored = "SELECT count(*) FROM elements_elementversion WHERE attributes ? 'extra'"
    with ThreadPoolExecutor(len(elements)) as pool:
        writers = [pool.submit(write, element) for element in elements]
        for name in ("with", "without", "without"):
            done = desk.server.manage("update_configuration", "acme", "handbook", str(folder / f"{name}.json"))
            assert done.returncode in (0, 1), done.stderr
            if done.returncode == 1:
                assert "extra" in done.stderr
            is_without = name == "without" and done.returncode == 0
        stop.set()
        assert set().union(*(each.result() for each in writers)) == {200, 422}
    assert not (is_without and desk.server.ask(stored))
