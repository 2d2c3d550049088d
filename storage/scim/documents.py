"""People and groups as resources of SCIM, and resources as the terms of a change."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Count
from scim2_models import Context, InvalidValueException, PatchOp, ResponseParameters

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
ONE_MEMBER = re.compile(r'members\[\s*value\s+eq\s+"[^"]*"\s*\]', re.IGNORECASE)


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


def person_resource(person: DirectoryPerson) -> Any:
    """Return the resource that PATCH changes."""
    given = {**person.attributes, "userName": person.user_name}
    given |= {"externalId": person.external_id} if person.external_id else {}
    return Person.model_validate({**given, "id": str(person.pk)}, scim_policy=POLICY)


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
    found = []
    for person in people:
        whole = shown(person_resource(person), None) | {"meta": _meta(person, "User", base)}
        whole |= {"groups": groups[person.pk]} if groups[person.pk] else {}
        found.append(shown(Person.model_validate(whole, scim_policy=POLICY), parameters))
    return found


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
    return [shown(group_resource(each, members[each.pk], base), parameters) for each in groups]


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
        raise InvalidValueException(detail=f"A User has at most {LARGEST_PERSON} bytes.")
    name, external = _name("userName", resource.user_name), _name("externalId", resource.external_id or "")
    return PersonTerms(name, external, resource.active is not False, stored)


def group_terms(resource: ScimGroup, before: ScimGroup | None = None) -> GroupTerms:
    """Return the terms of a group: those of a whole one, or the change since `before`."""
    wanted = _people(resource)
    name, external = _name("displayName", resource.display_name), _name("externalId", resource.external_id or "")
    if not name:
        raise InvalidValueException(detail="displayName: a group needs a name.")
    if before is None:
        return GroupTerms(name, external, wanted, None)
    held = _people(before)
    return GroupTerms(name, external, wanted - held, held - wanted)


def _people(group: ScimGroup) -> set[UUID]:
    found = set()
    for member in group.members or ():
        value = str(getattr(member, "value", None) or "")
        if not ID.fullmatch(value):
            raise InvalidValueException(detail=f"members: there is no User {value[:100]}.")
        found.add(UUID(value))
    return found


def _name(place: str, value: str | None) -> str:
    if value is None or len(value) > LONGEST_NAME or len(value.casefold()) > LONGEST_NAME:
        raise InvalidValueException(detail=f"{place}: expected a text of at most {LONGEST_NAME} characters.")
    return value


def touched_members(group: DirectoryGroup, patch: PatchOp[ScimGroup], body: bytes, base: str) -> list[dict[str, Any]]:
    """Return the members that a change needs to know: those that it names, or all if it may concern others.

    Directories add people to a large group one by one, which must not cost as much as the whole group.
    """
    rows = DirectoryMember.objects.filter(group=group)
    if all(map(_is_about_named, patch.operations or ())):
        rows = rows.filter(person__in={UUID(each) for each in ID.findall(body.decode())})
    return [_member(person, base) for person in rows.order_by("pk").values_list("person_id", flat=True)]


def _is_about_named(operation: Any) -> bool:
    path = str(operation.path or "").rpartition(":")[2].strip()
    if not path:
        return operation.op == "add" or not any(key.lower().endswith("members") for key in operation.value or ())
    if not path.lower().startswith("members"):
        return True
    if ONE_MEMBER.fullmatch(path):
        return bool(operation.op == "remove")
    is_listed = path.lower() == "members" and operation.value is not None
    return is_listed and operation.op in ("add", "remove")
