"""People and groups as resources of SCIM, and resources as the terms of a change."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Count
from scim2_models import Context, InvalidPathException, InvalidValueException, ResponseParameters

from storage.models import DirectoryGroup, DirectoryMember, DirectoryPerson
from storage.scim.groups import GroupTerms
from storage.scim.people import PersonTerms, version_of
from storage.scim.resources import POLICY, Person, ScimGroup

# Members of groups, and groups of people, in one response. A page ends before it would have more.
MOST_LINKS = 20_000
LONGEST_NAME = 255
LARGEST_PERSON = 16 * 1024
# Attributes that are columns, or that the service provides.
NOT_STORED = {"schemas", "id", "meta", "groups", "userName", "externalId"}
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
MEMBERS = re.compile(
    r'(?:urn:[^"]*:group:)?members(?P<rest>\s*\[\s*value\s+eq\s+"(?P<id>[^"]*)"\s*\]|[.\[].*)?',
    re.IGNORECASE | re.DOTALL,
)


def _meta(found: DirectoryPerson | DirectoryGroup, kind: str, base: str) -> dict[str, Any]:
    return {
        "resourceType": kind,
        "created": found.created_on,
        "lastModified": found.changed_on,
        "location": f"{base}/{kind}s/{found.pk}",
        "version": version_of(found),
    }


def shown(resource: Any, parameters: ResponseParameters[Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = resource.model_dump(
        scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=parameters, scim_policy=POLICY
    )
    return found


def wants(parameters: ResponseParameters[Any], name: str) -> bool:
    """Tell whether a response shows an attribute that costs a statement."""
    if parameters.attributes is not None:
        return any(str(each).rpartition(":")[2].lower().startswith(name) for each in parameters.attributes)
    return not any(str(each).rpartition(":")[2].lower() == name for each in parameters.excluded_attributes or ())


def person_resource(person: DirectoryPerson, **provided: Any) -> Any:
    """Return the resource that PATCH changes, or with what the service provides."""
    given = {**person.attributes, "userName": person.user_name, "id": str(person.pk), **provided}
    given |= {"externalId": person.external_id} if person.external_id else {}
    return Person.model_validate(given, scim_policy=POLICY)


def person_documents(
    people: Sequence[DirectoryPerson], base: str, parameters: ResponseParameters[Any]
) -> list[dict[str, Any]]:
    """Return people with their groups; fewer people if they have too many groups together."""
    groups: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    if wants(parameters, "groups"):
        people = _within("person", people)
        rows = DirectoryMember.objects.filter(person__in=[each.pk for each in people]).order_by("pk")
        for person_id, group, name in rows.values_list("person_id", "group_id", "group__display_name"):
            link = {"value": str(group), "$ref": f"{base}/Groups/{group}", "display": name}
            groups[person_id].append(link)
    return [
        shown(person_resource(each, meta=_meta(each, "User", base), groups=groups.get(each.pk)), parameters)
        for each in people
    ]


def group_resource(group: DirectoryGroup, members: Sequence[dict[str, Any]], base: str) -> ScimGroup:
    given: dict[str, Any] = {
        "id": str(group.pk),
        "displayName": group.display_name,
        "meta": _meta(group, "Group", base),
    }
    given |= {"externalId": group.external_id} if group.external_id else {}
    given |= {"members": members} if members else {}
    return ScimGroup.model_validate(given, scim_policy=POLICY)


def group_documents(
    groups: Sequence[DirectoryGroup], base: str, parameters: ResponseParameters[Any]
) -> list[dict[str, Any]]:
    """Return groups with their members; fewer groups if they have too many members together."""
    members: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    if wants(parameters, "members"):
        groups = _within("group", groups)
        rows = DirectoryMember.objects.filter(group__in=[each.pk for each in groups]).order_by("pk")
        for group_id, person in rows.values_list("group_id", "person_id"):
            members[group_id].append(_member(person, base))
    if parameters.attributes or parameters.excluded_attributes:
        return [shown(group_resource(each, members[each.pk], base), parameters) for each in groups]
    # Without a choice of attributes, the members need no further checks.
    found = [(each, shown(group_resource(each, (), base), None)) for each in groups]
    return [
        {**shown_group, **({"members": members[each.pk]} if members[each.pk] else {})} for each, shown_group in found
    ]


def _member(person: UUID, base: str) -> dict[str, Any]:
    return {"value": str(person), "$ref": f"{base}/Users/{person}", "type": "User"}


def _within(side: str, found: Sequence[Any]) -> Sequence[Any]:
    """Return as many of a page as have at most `MOST_LINKS` members or groups together, but at least one."""
    rows = DirectoryMember.objects.filter(**{f"{side}__in": [each.pk for each in found]})
    counts = dict(rows.order_by().values_list(f"{side}_id").annotate(number=Count("pk")))
    total = 0
    for place, each in enumerate(found):
        total += counts.get(each.pk, 0)
        if total > MOST_LINKS and place:
            return found[:place]
    return found


def person_terms(resource: Any) -> PersonTerms:
    """Return the terms of a resource; raise InvalidValueException for what cannot be stored."""
    whole: dict[str, Any] = resource.model_dump(scim_policy=POLICY)
    stored = {name: value for name, value in whole.items() if name not in NOT_STORED}
    if len(orjson.dumps(stored)) > LARGEST_PERSON:
        raise InvalidValueException(detail=f"The stored attributes of a User have at most {LARGEST_PERSON} bytes.")
    name, external = _name("userName", resource.user_name), _name("externalId", resource.external_id or "")
    return PersonTerms(name, external, resource.active is not False, stored)


def group_terms(resource: ScimGroup, changes: MemberChanges | None = None) -> GroupTerms:
    """Return the terms of a group: those of a whole one, or with the changes of its members."""
    name, external = _name("displayName", resource.display_name), _name("externalId", resource.external_id or "")
    if not name:
        raise InvalidValueException(detail="displayName: a group needs a name.")
    if changes is not None:
        return GroupTerms(name, external, changes.added, changes.removed)
    return GroupTerms(name, external, {_member_id(each.value) for each in resource.members or ()}, None)


def _name(place: str, value: str | None) -> str:
    if value is None or len(value) > LONGEST_NAME or len(value.casefold()) > LONGEST_NAME:
        raise InvalidValueException(detail=f"{place}: expected a text of at most {LONGEST_NAME} characters.")
    return value


class MemberChanges:
    """The members that a PATCH of a group adds and removes, taken out of its operations.

    scim2-models would compare each of them with all others; a directory may send thousands at once.
    """

    def __init__(self, operations: list[Any]) -> None:
        self.added: set[UUID] = set()
        self.removed: set[UUID] | None = set()
        self.others = [rest for each in operations if (rest := self._without_members(each)) is not None]

    def _without_members(self, operation: Any) -> Any:
        """Note the members of an operation, and return the rest of it; None if there is none."""
        if not isinstance(operation, dict):
            return operation
        given = {str(name).lower(): value for name, value in operation.items()}
        op, path, value = str(given.get("op", "")).lower(), str(given.get("path") or "").strip(), given.get("value")
        found = MEMBERS.fullmatch(path)
        if found is None:
            if path or not isinstance(value, dict):
                return operation
            named = [name for name in value if MEMBERS.fullmatch(name)]
            for name in named:
                self._note(op, value[name])
            rest = {name: each for name, each in value.items() if name not in named}
            return {**given, "value": rest} if rest or not named else None
        if found["id"] is not None:
            value = [{"value": found["id"]}]
        elif found["rest"]:
            raise InvalidPathException(detail='members: only members[value eq "..."] is supported, with remove.')
        if found["id"] is not None and op != "remove":
            raise InvalidPathException(detail="members: a member cannot be changed; add or remove it.")
        self._note(op, value)
        return None

    def _note(self, op: str, value: Any) -> None:
        people = {_member_id(each) for each in (value if isinstance(value, list) else [value] if value else [])}
        if op == "add":
            self.added |= people
            self.removed = None if self.removed is None else self.removed - people
        elif op == "replace" or (op == "remove" and value is None):
            self.added, self.removed = people, None
        elif op == "remove":
            self.added -= people
            self.removed = None if self.removed is None else self.removed | people
        else:
            raise InvalidValueException(detail="op: expected add, remove or replace.")


def _member_id(entry: Any) -> UUID:
    value = str(entry.get("value") if isinstance(entry, dict) else entry)
    if not ID.fullmatch(value):
        raise InvalidValueException(detail=f"members: there is no User {value[:100]}.")
    return UUID(value)
