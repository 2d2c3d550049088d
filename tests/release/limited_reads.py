"""Random permission sets on acme/house, a plain evaluation of their rules, and every read of a caller.

The expected responses come from a storage from which the hidden elements are really deleted.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

from elements.permission_sets.inheritance import rebuild_inherited
from facets.models import Facet, PermissionSet
from repository_site.api_document.document import openapi_document
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, main_text
from tests.release.house import ID, STATES, HouseClient, MakeClient

ELEMENTS = {
    "house": ("processes", "mainProcess"), "order": ("processes", "subProcess"), "erp": ("it", "system"),
    "inProcess": ("processes", "subProcess"), "released": ("processes", "subProcess"), "anna": ("users", "user"),
    "inProcess-task": ("processes", "task"), "released-task": ("processes", "task"), "eve": ("users", "user"),
    "crew": ("usergroups", "userGroup"),
}  # fmt: skip
PARENTS: dict[str, str] = dict.fromkeys(("order", *STATES), "house")

PARENTS |= {f"{name}-{part}": name for name in PARENTS for part in ("start", "task", "end")}
PARENTS |= {f"order-{number}-{part}": "order" for number in (1, 2) for part in ("start", "task", "end")}
GROUPS = {"ben": {"crew"}, "dora": {"crew"}}
FACETS = ("it", "processes", "usergroups")
# Callers are users and members of the group; without their elements they would not be callers.
PLACES = (*({*ELEMENTS} - {"anna", "crew"}), "inReview", "inEffect", "order-2-task")
LISTS = (
    "", "?$filter=name -ne null", "?$pageSize=2&$page=2", "?$orderBy=name desc", "?$format=csv",
    "?$expandRelated=systems", "?$resources=children,rootPath,content,versions,related",
)  # fmt: skip
OTHERS = (
    "rest/search?q=process", "rest/search?q=erp", "rest/search?q=task", "rest/search?q=ordr",
    "rest/search/suggestions?q=or", "rest/search/suggestions?q=e", "rest/tasks", "rest/facets",
    "rest/facets/it/reporting", "rest/facets/processes/reporting", "v1/permalinks", "rest/tasks?$filter=all",
)  # fmt: skip
PAGES = (
    "", "1033/", "1033/processes/", "1033/it/", "1033/search?q=process", "1033/search?q=erp",
    "1033/search/suggestions?q=or", "admin/", "admin/elements/element/", "admin/elements/tree/", "admin/my-work/",
    "admin/release/task/", "admin/release/lifecycleentry/", "admin/search/?s=order", "admin/translations/",
    "admin/elements/choices/?type=subProcess&property=systems&term=e",
)  # fmt: skip
OF_ELEMENT = (
    "1033/{facet}/{id}", "1033/{facet}/{id}/uses", "admin/elements/element/{id}/change/",
    "admin/elements/element/{id}/change/?tab=record", "admin/elements/element/{id}/change/?tab=lifecycle",
    "admin/elements/element/{id}/change/?tab=diagram", "admin/elements/element/{id}/edit/",
    "admin/elements/tree/details/{id}/",
)  # fmt: skip
# Different for every request, and what says how old the content is.
VARYING = re.compile(
    r'name="csrfmiddlewaretoken" value="[^"]*"|nonce="[^"]*"|data-csrf="[^"]*"|"X-CSRFToken": "[^"]*"|"next": *"[^"]*"'
)
# Every table whose rows are about an element, by its column.
ROWS = {
    "elements_reference": "target_id", "elements_shape": "element_id", "elements_lane": "element_id",
    "storage_event": "subject_id", "release_task": "element_id", "elements_permalink": "target_id",
    "storage_message": "element_id", "storage_subscription": "element_id",
}  # fmt: skip
OF_VERSIONS = ("elements_reference", "elements_shape", "elements_lane", "elements_versionfile", "elements_bpmnsource")


@dataclass
class RandomSets:
    """Some sets, by element and by facet: mode and names of users and groups that may show it."""

    random: random.Random
    with_facets: bool = False
    of_elements: dict[str, tuple[str, set[str]]] = field(default_factory=dict)
    of_facets: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pick = self.random
        for place in pick.sample(sorted(PLACES), pick.randint(1, 4)):
            mode = pick.choice(["extend", "replace", "replace", "stop"])
            people = set(pick.sample(["anna", "crew", "vera"], pick.randint(1, 2)))
            self.of_elements[place] = mode, set() if mode == "stop" else people
        if self.with_facets:
            self.of_facets[pick.choice(FACETS)] = {pick.choice(["anna", "crew"])}

    def write(self, storage: Storage) -> None:
        with tenant_scope(storage):
            number = 0
            for name, (mode, people) in self.of_elements.items():
                number += 1
                entries = {"show": [ID[each] for each in sorted(people)]} if people else {}
                PermissionSet.objects.create(number=number, creation_id=ID[name], mode=mode, entries=entries)
            for facet, people in self.of_facets.items():
                number += 1
                row = Facet.objects.get(name=facet)
                entries = {"show": [ID[each] for each in sorted(people)]}
                PermissionSet.objects.create(number=number, facet_id=row.id, entries=entries)
            rebuild_inherited()

    def hidden(self, user: str, facets: dict[str, str]) -> set[str]:
        """Return the names of the elements that a user does not see. `facets` are by name of the element."""
        own = {user, *GROUPS.get(user, ())}
        return {name for name, facet in facets.items() if not self._shows(name, own) or not self._opens(facet, own)}

    def _shows(self, name: str, own: set[str]) -> bool:
        allowed: set[str] = set()
        place: str | None = name
        while place is not None:
            if place in self.of_elements:
                mode, people = self.of_elements[place]
                allowed |= people
                if mode != "extend":
                    break
            place = PARENTS.get(place)
        return not allowed or bool(allowed & own)

    def _opens(self, facet: str, own: set[str]) -> bool:
        return facet not in self.of_facets or bool(self.of_facets[facet] & own)


def facets_of(storage: Storage) -> dict[str, str]:
    """Return the facets of all elements, by their names in `house.ID`."""
    names = {id: name for name, id in ID.items()}
    sql = """SELECT e.id::text, f.name FROM elements_element e JOIN facets_elementtype t ON t.id = e.type_id
        JOIN facets_facet f ON f.id = t.facet_id"""
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute(sql)
        return {names[id]: facet for id, facet in cursor.fetchall() if id in names}


def delete_really(storage: Storage, hidden: set[str]) -> None:
    """Delete rows without any check, in the scope."""
    ids = [ID[name] for name in hidden]
    with connection.cursor() as cursor:
        # Append-only tables allow it only while a storage is removed.
        cursor.execute("SELECT set_config('repository.removing', %s, true)", [str(storage.id)])
        for table in ("elements_elementchange", "release_lifecycleentry"):
            cursor.execute(f"DELETE FROM {table} WHERE element_id = ANY(%s::uuid[])", [ids])
        cursor.execute("SELECT set_config('repository.removing', '', true)")
        cursor.execute("SELECT id FROM elements_elementversion WHERE element_id = ANY(%s::uuid[])", [ids])
        versions = [str(row[0]) for row in cursor.fetchall()]
        cursor.execute("SELECT id FROM elements_shape WHERE element_id = ANY(%s::uuid[])", [ids])
        shapes = [str(row[0]) for row in cursor.fetchall()]
        flows = "DELETE FROM elements_shapeflow WHERE shape_id = ANY(%s::uuid[]) OR predecessor_id = ANY(%s::uuid[])"
        cursor.execute(flows, [shapes, shapes])
        for table, column in ROWS.items():
            cursor.execute(f"DELETE FROM {table} WHERE {column} = ANY(%s::uuid[])", [ids])
        for table in OF_VERSIONS:
            cursor.execute(f"DELETE FROM {table} WHERE version_id = ANY(%s::uuid[])", [versions])
        cursor.execute("DELETE FROM elements_elementversion WHERE id = ANY(%s::uuid[])", [versions])
        cursor.execute("DELETE FROM elements_element WHERE id = ANY(%s::uuid[])", [ids])


class LimitedReads:
    """A user of the house and everything that the user can read, in the API and on pages."""

    def __init__(self, house: Storage, desk: MakeClient, user: str, role: Role) -> None:
        self.house, self.user, self.role = house, user, role
        self.chosen: list[str] | None = None
        self.client: HouseClient = desk(role, user=user)
        self.office = Office(house, role, user_id=ID[user])

    def addresses(self) -> Iterator[str]:
        for facet in {facet for facet, _ in ELEMENTS.values()}:
            for query in LISTS:
                yield f"_api/rest/facets/{facet}/views/detail/elements{query}"
        yield from (f"_api/{each}" for each in OTHERS)
        for name, (facet, type) in ELEMENTS.items():
            parts = {
                "collectionId": "acme", "storageId": "house", "facetId": facet, "viewId": "detail",
                "elementId": ID[name], "type": type, "attributeName": "name", "relatedId": "systems",
                "cultureId": "1033", "layoutKey": "processFlow",
            }  # fmt: skip
            for path, operations in openapi_document()["paths"].items():
                address = path
                for part, value in parts.items():
                    address = address.replace(f"{{{part}}}", value)
                # The document of the API has ids in its examples.
                is_constant = address.endswith(("/schema", "/docs", "/permissions/facets/it"))
                if "get" in operations and "{" not in address and "permissionsets" not in address and not is_constant:
                    yield address.removeprefix("/acme/house/")
        yield from PAGES
        for name, (facet, _) in ELEMENTS.items():
            yield from (each.format(facet=facet, id=ID[name]) for each in OF_ELEMENT)

    def choose(self, random: random.Random, number: int) -> None:
        """Read only some addresses, for a quick test."""
        self.chosen = random.sample(sorted(set(self.addresses())), number)

    def read(self) -> dict[str, tuple[int, str]]:
        return {address: self._read(address) for address in self.chosen or dict.fromkeys(self.addresses())}

    def _read(self, address: str) -> tuple[int, str]:
        if address.startswith("_api/"):
            response: Any = self.client.get(address.removeprefix("_api/"))
            total = response.headers.get("X-Total-Count", "")
            return response.status_code, VARYING.sub("", response.content.decode(errors="replace")) + total
        response = self.office.client.get(f"/acme/house/{address}")
        text = main_text(response) if address.startswith("admin/") else VARYING.sub("", response.content.decode())
        return response.status_code, text

    def expected(self, sets: RandomSets) -> dict[str, tuple[int, str]]:
        """Return what the user would read if the hidden elements had been deleted and there were no sets."""
        hidden = self.hidden(sets)
        with transaction.atomic(), tenant_scope(self.house):
            PermissionSet.objects.all().delete()
            delete_really(self.house, hidden)
            found = self.read()
            transaction.set_rollback(True)
        return found

    def hidden(self, sets: RandomSets) -> set[str]:
        return sets.hidden(self.user, facets_of(self.house))
