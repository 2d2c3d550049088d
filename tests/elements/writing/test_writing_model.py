"""Random changes in two storages with common ids, compared with a plain model of elements (D15, D17, D19).

After every request, the element and everything around it equal the model. Requests that the model refuses get the
status it says and change nothing, and the other storage never changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule, run_state_machine_as_test

from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import FACET_OF, ID, TEMPLATE
from tests.factories import storage_context
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
Body = dict[str, Any]
TABLES = (
    "element", "elementversion", "reference", "shape", "shapeflow", "lane", "bpmnsource", "elementchange",
)  # fmt: skip
LIVING = ("task", "evStart")
TYPES = TEMPLATE["types"]
PARENTS = TYPES["subProcess"]["parents"]
PROCESSES = "processes/views/detail/elements"
ATTRIBUTES = ("name", "scope", "count")
MISSING, FORBIDDEN, CONFLICT, INVALID = 404, 403, 409, 422
BASIC_FIRST = (MISSING, FORBIDDEN, CONFLICT, INVALID)
# Elements of both storages: a draft, a version in effect, a released parent, a draft that others refer to.
COMMON = {
    "invoice": "subProcess",
    "ship": "subProcess",
    "sales": "mainProcess",
    "crm": "system",
    "house": "processHouse",
}
RELEASED = ("ship", "sales")


@dataclass
class ModelShape:
    id: str
    element: str
    predecessors: list[str] = field(default_factory=list)


@dataclass
class ModelElement:
    """An element as it should be."""

    type: str
    parent: str | None = None
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    stereotype: str = ""
    related: dict[str, list[str]] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    shapes: list[ModelShape] = field(default_factory=list)
    is_draft: bool = True
    is_initial: bool = False

    def set(self, name: str, culture: str, value: Any) -> None:
        values = {**self.attributes.get(name, {}), culture: value}
        values = {lcid: each for lcid, each in values.items() if each is not None}
        self.attributes.pop(name, None)
        if values:
            self.attributes[name] = values

    def join(self, shape: str, before: list[str]) -> None:
        [known] = [each for each in self.shapes if each.id == shape]
        known.predecessors += [each for each in before if each not in known.predecessors]

    def as_read(self) -> Body:
        parts = ("parent", "attributes", "stereotype", "children")
        related = {name: targets for name, targets in self.related.items() if targets}
        content = [each.element for each in self.shapes]
        return {**{part: getattr(self, part) for part in parts}, "related": related, "content": content}


class ElementKey(NamedTuple):
    """An element and the storage in which it was created; with the shape that shows it, if it was drawn."""

    home: str
    id: str
    owner: str = ""
    shape: str = ""


Items = list[tuple[str | ElementKey, frozenset[int]]]


class WritingModel:
    """One storage: its model, and its API."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.api, self.name = storage, ApiClient(), str(storage.collection.key)
        self.facets = f"/{self.name}/{storage.key}/_api/rest/facets"
        self.callers: dict[str, tuple[str, str]] = {}
        for role in (Role.ARCHITECT, Role.EDITOR):
            issued = issue_token(storage_context(storage), role.value, [role])
            self.callers[role.value] = str(issued.token.id), issued.value
        self.before = {each["id"]: each for each in self.everything()}
        self.known = {ID[name]: self.initial(name, type) for name, type in COMMON.items()}

    def initial(self, name: str, type: str) -> ModelElement:
        found = view_of(self.before[ID[name]])
        del found["content"]
        return ModelElement(type, **found, shapes=self.shapes(ID[name]), is_draft=name not in RELEASED, is_initial=True)

    def shapes(self, owner: str) -> list[ModelShape]:
        found = self.call("GET", f"{PROCESSES}/{owner}/content")[1]
        return [shape_of(each) for each in found.get("elements", [])]

    def call(self, method: str, address: str, body: Any = None, by: str = "architect") -> tuple[int, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        token = self.callers[by][1]
        response = self.api.generic(method, f"{self.facets}/{address}", content, "application/json", token=token)
        return response.status_code, response.json()

    def elements(self, id: str) -> str:
        known = self.known.get(id)
        return f"{FACET_OF[known.type] if known else 'processes'}/views/detail/elements"

    def everything(self) -> list[Body]:
        lists = [self.call("GET", f"{facet}/views/detail/elements")[1]["elements"] for facet in ("processes", "it")]
        return [each for found in lists for each in found]

    def fingerprint(self) -> str:
        tables = (
            f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM elements_{name} t)" for name in TABLES
        )
        with tenant_scope(self.storage), connection.cursor() as cursor:
            cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(tables)}))")
            return str(cursor.fetchone()[0])

    def type_of(self, id: str | None) -> str | None:
        return self.known[id].type if id in self.known else None

    def above(self, id: str | None) -> Iterator[str]:
        while id in self.known:
            yield id
            id = self.known[id].parent

    def refusals(self, id: str, by: str, is_changed: bool) -> set[int]:
        """Return refusals of a valid change: by the caller's permissions, and by the state of the version."""
        known = self.known[id]
        authors = (self.known[str(known.parent)] if known.type in LIVING else known).related.get("author")
        if by == "editor" and (known.type == "processHouse" or (authors and self.callers[by][0] not in authors)):
            return {FORBIDDEN}
        return {CONFLICT} if is_changed and not known.is_draft else set()

    def named_by_others(self, ids: set[str]) -> bool:
        return any(
            ids & {*known.related.get("systems", ()), *(each.element for each in known.shapes)}
            for id, known in self.known.items()
            if id not in ids
        )

    def place(self, id: str, parent: str | None) -> None:
        """Place an element last below its parent. Elements that live in diagrams have a parent that does not list them
        as children."""
        known = self.known[id]
        if known.type not in LIVING:
            if known.parent is not None:
                self.known[known.parent].children.remove(id)
            if parent is not None:
                self.known[parent].children.append(id)
        known.parent = parent

    def forget(self, id: str) -> None:
        self.place(id, None)
        del self.known[id]

    def erase(self, owner: str, shape: str) -> None:
        known = self.known[owner]
        [gone] = [each for each in known.shapes if each.id == shape]
        known.shapes.remove(gone)
        for each in known.shapes:
            if shape in each.predecessors:
                each.predecessors.remove(shape)
                known.join(each.id, [one for one in gone.predecessors if one not in (each.id, shape)])
        if self.type_of(gone.element) in LIVING:
            self.forget(gone.element)


def view_of(element: Body) -> Body:
    """Return the part of a response that the model knows."""
    return {
        "parent": element["rootPath"][0]["id"] if "rootPath" in element else None,
        "attributes": {name: values for name, values in element["attributes"].items() if name in ATTRIBUTES},
        "stereotype": element.get("stereotype") or "",
        "related": {
            name: [each["id"] for each in element["related"][name]]
            for name in ("author", "systems")
            if name in element.get("related", {})
        },
        "children": [each["id"] for each in element.get("children", [])],
        "content": [each["id"] for each in element.get("content", [])],
    }


def shape_of(drawn: Body) -> ModelShape:
    properties = drawn["properties"]
    before = [each["properties"]["shapeId"] for each in properties.get("predecessors", [])]
    return ModelShape(properties["shapeId"], drawn["id"], before)


TEXT = st.text("aÄ\u00df 1", min_size=1, max_size=4)
VALUES = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(["1031", "1033"]), TEXT | st.none()),
    st.tuples(st.just("scope"), st.sampled_from(["1033"] * 9 + ["1036"]), TEXT | st.none()),
    st.tuples(st.just("count"), st.just("127"), st.sampled_from([*range(4), None] * 2 + ["no"])),
)
BY = st.sampled_from(["architect", "architect", "editor"])
PREDECESSORS = st.sampled_from([frozenset(each) for each in ((), (), (), (0,), (1,), (1,), (2,), (1, 2), (9,))])
SELDOM = st.sampled_from([False] * 9 + [True])


class WritingMachine(RuleBasedStateMachine):
    elements = Bundle("elements")
    systems = Bundle("systems")
    shapes = Bundle("shapes")
    storages: tuple[Storage, ...]

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.worlds = {world.name: world for world in map(WritingModel, self.storages)}

    def teardown(self) -> None:
        """Compare whole lists of both storages, and check the foreign keys."""
        try:
            for world in self.worlds.values():
                found = {each["id"]: each for each in world.everything()}
                untouched = world.before.keys() - world.known.keys()
                assert found.keys() == untouched | world.known.keys()
                for id in untouched:
                    assert view_of(found[id]) == view_of(world.before[id])
                    assert found[id]["attributes"] == world.before[id]["attributes"]
                for id, known in world.known.items():
                    assert view_of(found[id]) == known.as_read(), id
            connection.check_constraints()
        finally:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    def world(self, key: ElementKey, elsewhere: bool) -> WritingModel:
        return self.worlds[next(name for name in self.worlds if (name == key.home) != elsewhere)]

    def send(self, world: WritingModel, kinds: set[int], method: str, address: str, body: Any, by: str) -> Any:
        """Return the response if the model refuses nothing, else None."""
        others = [each for each in self.worlds.values() if each is not world]
        before = [each.fingerprint() for each in (*others, world)]
        status, answer = world.call(method, address, body, by)
        after = [each.fingerprint() for each in (*others, world)]
        assert status == next((each for each in BASIC_FIRST if each in kinds), 200), answer
        assert after[0] == before[0]
        assert (after[1] == before[1]) is bool(kinds)
        return None if kinds else answer

    def check(self, world: WritingModel, *ids: str | None) -> None:
        for id in ids:
            if id is None:
                continue
            known = world.known.get(id)
            status, answer = world.call("GET", f"{world.elements(id)}/{id}")
            assert status == (200 if known else 404)
            if known:
                assert view_of(answer["elements"][0]) == known.as_read()
                assert known.shapes == (world.shapes(id) if known.shapes else [])

    @initialize(target=elements)
    def common_elements(self) -> Any:
        """Drafts more often than elements that can only be refused."""
        names = ("invoice", "invoice", "invoice", "sales", "sales", "ship", "house")
        return multiple(*(ElementKey(home, ID[name]) for home in self.worlds for name in names))

    @initialize(target=systems)
    def common_systems(self) -> Any:
        return multiple(*(ElementKey(home, ID["crm"]) for home in self.worlds))

    @rule(target=elements, parent=elements, name=TEXT, by=BY, elsewhere=SELDOM)
    def create_process(self, parent: ElementKey, name: str, by: str, elsewhere: bool) -> Any:
        world = self.world(parent, elsewhere)
        above = world.known.get(parent.id)
        kinds = set() if above and above.type in PARENTS else {INVALID}
        body = {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": [{"id": parent.id}]}
        return self.created(world, kinds, body, by, parent.id)

    @rule(target=systems, name=TEXT, by=BY, home=st.sampled_from(["acme", "rival"]))
    def create_system(self, name: str, by: str, home: str) -> Any:
        return self.created(
            self.worlds[home], set(), {"type": "system", "attributes": {"name": {"1033": name}}}, by, None
        )

    def created(self, world: WritingModel, kinds: set[int], body: Body, by: str, parent: str | None) -> Any:
        type = body["type"]
        answer = self.send(world, kinds, "POST", f"{FACET_OF[type]}/views/detail/elements", {"elements": [body]}, by)
        if answer is None:
            return multiple()
        id = answer["elements"][0]["id"]
        world.known[id] = ModelElement(type, attributes=body["attributes"], related={"author": [world.callers[by][0]]})
        world.place(id, parent)
        self.check(world, id, parent)
        return ElementKey(world.name, id)

    @rule(
        key=elements | systems | shapes,
        values=st.lists(VALUES, max_size=3, unique_by=lambda each: each[:2]),
        stereotype=st.none() | st.sampled_from(["", "core"]),
        named=st.none() | st.lists(systems, max_size=3) | st.lists(elements, min_size=1, max_size=1),
        by=BY,
        elsewhere=SELDOM,
    )
    def update(
        self,
        key: ElementKey,
        values: Any,
        stereotype: str | None,
        named: list[ElementKey] | None,
        by: str,
        elsewhere: bool,
    ) -> None:
        world = self.world(key, elsewhere)
        body: Body = {"id": key.id, "attributes": {}}
        for name, culture, value in values:
            body["attributes"].setdefault(name, {})[culture] = value
        if stereotype is not None:
            body["stereotype"] = stereotype
        if named is not None:
            body["related"] = {"systems": [{"id": each.id} for each in named]}
        kinds = self.problems(world, key.id, body, by)
        if self.send(world, kinds, "POST", world.elements(key.id), {"elements": [body]}, by):
            known = world.known[key.id]
            for name, culture, value in values:
                known.set(name, culture, value)
            known.stereotype = known.stereotype if stereotype is None else stereotype
            if named is not None:
                known.related["systems"] = [each.id for each in named]
        self.check(world, key.id)

    def problems(self, world: WritingModel, id: str, body: Body, by: str) -> set[int]:
        known = world.known.get(id)
        if known is None:
            return {MISSING}
        kinds, is_changed = set(), body.get("stereotype", known.stereotype) != known.stereotype
        properties = TYPES[known.type]["properties"]
        for name, values in body["attributes"].items():
            for culture, value in values.items():
                if name not in properties or culture == "1036" or value == "no":
                    kinds.add(INVALID)
                else:
                    is_changed |= known.attributes.get(name, {}).get(culture) != value
        if "related" in body:
            named = [each["id"] for each in body["related"]["systems"]]
            if "systems" not in properties or {world.type_of(each) for each in named} - {"system"}:
                kinds.add(INVALID)
            else:
                is_changed |= named != known.related.get("systems", [])
        return kinds | world.refusals(id, by, is_changed)

    @rule(key=elements | shapes, parent=elements | st.none(), by=BY, elsewhere=SELDOM)
    def move(self, key: ElementKey, parent: ElementKey | None, by: str, elsewhere: bool) -> None:
        world, target = self.world(key, elsewhere), parent.id if parent else None
        known = world.known.get(key.id)
        earlier = known.parent if known else None
        if known is None:
            kinds = {MISSING}
        elif target == earlier:
            kinds = world.refusals(key.id, by, False)
        else:
            parents = [*TYPES[known.type].get("parents", []), *([None] if target is None else [])]
            is_wrong = known.type in LIVING or world.type_of(target) not in parents
            is_circle = key.id in world.above(target)
            kinds = {INVALID} if is_wrong or is_circle else set()
            kinds |= world.refusals(key.id, by, not is_wrong)
        body = {"id": key.id, "rootPath": [{"id": target}] if target else []}
        if self.send(world, kinds, "POST", world.elements(key.id), {"elements": [body]}, by) and target != earlier:
            world.place(key.id, target)
        self.check(world, key.id, target, earlier)

    @rule(
        target=shapes,
        key=elements,
        items=st.lists(st.tuples(st.sampled_from(LIVING) | elements | shapes, PREDECESSORS), min_size=1, max_size=3),
        by=BY,
        elsewhere=SELDOM,
    )
    def draw(self, key: ElementKey, items: Items, by: str, elsewhere: bool) -> Any:
        """An item is a type to create, an element to show, or an existing shape to connect."""
        world = self.world(key, elsewhere)
        values = [item_of(index, *item) for index, item in enumerate(items)]
        kinds = self.drawing_problems(world, key.id, items, by)
        answer = self.send(world, kinds, "POST", f"{PROCESSES}/{key.id}/content", {"values": values}, by)
        if answer is None:
            return multiple()
        owner, ids = world.known[key.id], [each["id"] for each in answer["values"]]
        drawn = {each.id: each.element for each in world.shapes(key.id)}
        for (what, _), shape in zip(items, ids, strict=True):
            if isinstance(what, str):
                world.known[drawn[shape]] = ModelElement(what, attributes={"name": {"1033": what}})
                world.place(drawn[shape], key.id)
            if isinstance(what, str) or not what.shape:
                owner.shapes.append(ModelShape(shape, drawn[shape] if isinstance(what, str) else what.id))
        for (_, before), shape in zip(items, ids, strict=True):
            owner.join(shape, [ids[each] for each in sorted(before)])
        self.check(world, key.id, *drawn.values())
        return multiple(
            *(ElementKey(world.name, each.element, key.id, each.id) for each in owner.shapes if each.id in ids)
        )

    def drawing_problems(self, world: WritingModel, id: str, items: Items, by: str) -> set[int]:
        owner = world.known.get(id)
        if owner is None or owner.type == "system":
            return {MISSING}
        kinds = world.refusals(id, by, True)
        insertables = TYPES[owner.type].get("insertables", [])
        for index, (what, before) in enumerate(items):
            if isinstance(what, str):
                is_right = what in insertables
            elif what.shape:
                is_right = any(each.id == what.shape for each in owner.shapes)
                is_right &= not any(each < len(items) and items[each][0] == what for each in before)
            else:
                is_right = world.type_of(what.id) in insertables and world.type_of(what.id) not in LIVING
            if not is_right or any(each == index or each >= len(items) for each in before):
                kinds.add(INVALID)
        return kinds

    @rule(key=shapes, other=elements, wrong=SELDOM, by=BY, elsewhere=SELDOM)
    def erase(self, key: ElementKey, other: ElementKey, wrong: bool, by: str, elsewhere: bool) -> None:
        world, owner = self.world(key, elsewhere), other.id if wrong else key.owner
        known = world.known.get(owner)
        if known is None or known.type == "system":
            kinds = {MISSING}
        else:
            kinds = world.refusals(owner, by, True) | ({INVALID} if not TYPES[known.type].get("hasDiagram") else set())
            if not kinds and all(each.id != key.shape for each in known.shapes):
                kinds = {MISSING}
        if self.send(world, kinds, "POST", f"{PROCESSES}/{owner}/content/{key.shape}/delete", None, by):
            world.erase(owner, key.shape)
        self.check(world, owner, key.id)

    @rule(key=elements | systems | shapes, by=BY, elsewhere=SELDOM)
    def delete(self, key: ElementKey, by: str, elsewhere: bool) -> None:
        world = self.world(key, elsewhere)
        known = world.known.get(key.id)
        parent = known.parent if known else None
        kinds = {MISSING}
        if known is not None:
            going = {key.id, *(each.element for each in known.shapes if world.type_of(each.element) in LIVING)}
            in_the_way = set(known.children) - going or world.named_by_others(going) or known.is_initial
            kinds = ({CONFLICT} if in_the_way and known.type not in LIVING else set()) | world.refusals(
                key.id, by, False
            )
        if self.send(world, kinds, "DELETE", f"{world.elements(key.id)}/{key.id}", None, by) and known:
            if known.type in LIVING:
                world.erase(str(parent), key.shape)
            else:
                for each in going:
                    world.forget(each)
        self.check(world, key.id, parent)


def item_of(index: int, what: str | ElementKey, before: frozenset[int]) -> Body:
    info: Body = {"index": index, "predecessors": sorted(before)}
    if isinstance(what, str):
        return {"shapeInfo": info, "element": {"type": what, "attributes": {"name": {"1033": what}}}}
    return {"shapeInfo": {**info, "id": what.shape}} if what.shape else {"shapeInfo": info, "element": {"id": what.id}}


def test_a_model_of_two_storages(handbook: Storage) -> None:
    rival = Storage.objects.get(collection__key="rival", key=handbook.key)
    machine = type("Handbooks", (WritingMachine,), {"storages": (handbook, rival)})
    limits = settings(max_examples=scaled(10) + 1, stateful_step_count=25, deadline=None, database=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
    run_state_machine_as_test(machine, settings=limits)
