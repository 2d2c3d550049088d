"""Permission sets of elements and facets (D490): read, set, remove."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.permissions import set_serializers as bodies
from elements.api.writing_viewset import ElementWritingViewSet
from elements.permission_sets.callers import numbers_of
from elements.reading.rows import Identity, VersionRow, read_identities
from elements.writing.limiting import (
    Entries,
    grantees_of,
    hold_sets,
    limit_facet,
    remove_permissions,
    set_permissions,
)
from elements.writing.writers import Writer
from facets.blueprint.private_content import USER_TYPE
from facets.permission_sets import MODES, REPLACE, Limited, StoredSet
from repository_site.core.problems import Unreadable
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID
from storage.options import Role

TAG = "permissions"
FIRST = ApiVersions.up_to("1.0")
USERS, GROUPS, MODE = "users", "userGroups", "mode"
EXPECTED = (
    'expected {"mode": "replace", "users": [{"id": "…", "permissions": ["show"]}], "userGroups": []} with the modes'
    f" {', '.join(MODES)} and the permissions {', '.join(Limited)}."
)


class PermissionSetViewSet(ElementWritingViewSet):
    @Operation(
        "getPermissionSet",
        tag=TAG,
        summary="Get the permission set that applies to an element",
        versions=FIRST,
        responses=bodies.PermissionSetSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return the set of the element, else the one that it inherits; without any, the lists are empty.

        Users and groups that the caller does not see are left out.
        """
        self.query(request).finish()
        return self._answer_set(self.element(names["elementId"]))

    @Operation(
        "setPermissionSet",
        tag=TAG,
        summary="Set the permission set of an element",
        versions=FIRST,
        writes=True,
        body=bodies.PermissionSetInputSerializer,
        responses=bodies.PermissionSetSerializer,
    )
    def update(self, request: Request, **names: str) -> HttpResponse:
        """Limit who can show, open, edit, create, delete and approve the element and everything below it.

        Sets limit what roles grant. A permission that no entry names is not limited. Only administrators can change
        sets, and no set limits administrators.
        """
        writer = self._holding_writer(request)
        row = self.element(names["elementId"])
        mode, entries = _read(request.data, with_mode=True)
        set_permissions(writer, row, mode, entries)
        return self._answer_changed(request, row)

    @Operation(
        "removePermissionSet",
        tag=TAG,
        summary="Remove the permission set of an element",
        versions=FIRST,
        writes=True,
        responses=bodies.PermissionSetSerializer,
    )
    def destroy(self, request: Request, **names: str) -> HttpResponse:
        """Remove the set of the element itself, and return the one that it inherits then."""
        self.refuse_parameters_and_body(request)
        writer = self._holding_writer(request)
        row = self.element(names["elementId"])
        remove_permissions(writer, row)
        return self._answer_changed(request, row)

    @Operation(
        "getFacetPermissionSet",
        tag=TAG,
        summary="Get the permission set of a facet",
        versions=FIRST,
        responses=bodies.PermissionSetSerializer,
    )
    def get_facet_permission_set(self, request: Request, **names: str) -> HttpResponse:
        """Return the set of the facet; without one, the lists are empty."""
        self.query(request).finish()
        name = self.configuration.facet(names["facetId"]).facet.name
        return self._answer_grantees(self.configuration.sets.by_facet.get(name))

    @Operation(
        "setFacetPermissionSet",
        tag=TAG,
        summary="Set the permission set of a facet",
        versions=FIRST,
        writes=True,
        body=bodies.FacetSetInputSerializer,
        responses=bodies.PermissionSetSerializer,
    )
    def set_facet_permission_set(self, request: Request, **names: str) -> HttpResponse:
        """Limit who can show, open, edit, create, delete and approve the elements of the facet.

        For callers who lack show or open, the facet does not exist. Without users and groups, nobody is limited.
        """
        writer = self._holding_writer(request)
        _mode, entries = _read(request.data, with_mode=False)
        # A token can be limited to other facets.
        facet = self.configuration.facet(names["facetId"]).facet
        limit_facet(writer, self.storage, facet.name, entries)
        self.settled_writer(request)
        name = self.configuration.facet(names["facetId"]).facet.name
        return self._answer_grantees(self.configuration.sets.by_facet.get(name))

    def _holding_writer(self, request: Request) -> Writer:
        self.caller.require_role(Role.ADMINISTRATOR)
        self.query(request).finish()
        hold_sets(self.storage)
        return self.settled_writer(request)

    def _answer_changed(self, request: Request, row: VersionRow) -> HttpResponse:
        # The change has renewed the revision of the configuration.
        self.settled_writer(request)
        return self._answer_set(row)

    def _answer_set(self, row: VersionRow) -> HttpResponse:
        number, _facet = numbers_of([row.element]).get(row.element, (0, 0))
        return self._answer_grantees(self.configuration.sets.by_number.get(number))

    def _answer_grantees(self, found: StoredSet | None) -> HttpResponse:
        granted = grantees_of(found.entries) if found else {}
        seen = read_identities(self.reader.audience, list(granted))
        lists: dict[str, list[dict[str, Any]]] = {USERS: [], GROUPS: []}
        for id in granted:
            if id in seen:
                lists[self._list_of(seen[id])].append({**self.reader.reference(seen[id]), "permissions": granted[id]})
        return answer({"id": found.id if found else None, **lists})

    def _list_of(self, identity: Identity) -> str:
        return USERS if self.reader.types[identity.type].key == USER_TYPE else GROUPS


def _read(given: Any, *, with_mode: bool) -> tuple[str, Entries]:
    known = {USERS, GROUPS, *([MODE] if with_mode else [])}
    if not isinstance(given, dict) or not given.keys() <= known:
        raise Unreadable(EXPECTED)
    mode = given.get(MODE, REPLACE)
    if mode not in MODES:
        raise Unreadable(EXPECTED)
    entries: dict[Limited, list[str]] = {each: [] for each in Limited}
    for name in (USERS, GROUPS):
        held: Any = given.get(name, [])
        listed: list[Any] = held if isinstance(held, list) else [None]
        for each in listed:
            for permission in _permissions(each):
                entries[permission].append(each["id"].lower())
    return mode, entries


def _permissions(given: Any) -> list[Limited]:
    if not isinstance(given, dict) or given.keys() != {"id", "permissions"}:
        raise Unreadable(EXPECTED)
    id, named = given["id"], given["permissions"]
    if not isinstance(id, str) or not GUID.fullmatch(id) or not isinstance(named, list) or not named:
        raise Unreadable(EXPECTED)
    if not all(isinstance(each, str) and each in set(Limited) for each in named):
        raise Unreadable(EXPECTED)
    return [Limited(each) for each in named]
