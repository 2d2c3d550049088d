"""Claims of people whom a directory has provisioned (D544), for the rules of their provider."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q

from storage.models import DirectoryGroup, DirectoryMember, DirectoryPerson, IdentityProvider, StaffAccount
from storage.single_sign_on.rules import Claims, values_of

GROUPS = "groups"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
# A claim with one group may be a text.
_FORGET = """UPDATE socialaccount_socialaccount SET extra_data = jsonb_set(extra_data, '{groups}',
        CASE jsonb_typeof(extra_data -> 'groups') WHEN 'array' THEN (extra_data -> 'groups') - %(names)s::text[]
        ELSE '[]'::jsonb END)
    WHERE provider = %(provider)s AND extra_data -> 'groups' ?| %(names)s::text[]"""


def with_directory(provider: IdentityProvider, account: StaffAccount | None, claims: Claims) -> Claims:
    """Return the claims of a sign-in or an access token, together with those of the directory."""
    if account is None or provider.collection_id is None:
        return claims
    people = list(DirectoryPerson.objects.filter(provider=provider, account=account))
    return claims_of(provider, people, {account.pk: claims})[people[0].pk] if people else claims


def claims_of(
    provider: IdentityProvider, people: Sequence[DirectoryPerson], signed_in: Mapping[int, Claims]
) -> dict[UUID, Claims]:
    """Return the claims of people by their ids. `signed_in` has the claims of sign-ins by account.

    Groups that the directory manages are those of the directory alone: a sign-in may have happened before somebody left
    a group.
    """
    groups = _groups_of(people)
    told = {each for claims in signed_in.values() for each in values_of(claims, GROUPS)}
    managed = _managed(provider, told)
    found: dict[UUID, Claims] = {}
    for person in people:
        claims = signed_in.get(person.account_id or 0, {})
        others = [each for each in values_of(claims, GROUPS) if each not in managed]
        found[person.pk] = {**claims, **_attributes_of(person), GROUPS: [*groups[person.pk], *others]}
    return found


def forget_groups(provider: IdentityProvider, names: Iterable[str]) -> None:
    """Forget what sign-ins have told about groups that the directory deletes or renames: people may have left them
    since, and the directory does not manage them any longer (D562)."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"names": [*names], "provider": str(provider.pk)})


def _groups_of(people: Sequence[DirectoryPerson]) -> dict[UUID, list[str]]:
    rows = DirectoryMember.objects.filter(person__in=[each.pk for each in people])
    found: dict[UUID, list[str]] = defaultdict(list)
    for person, *names in rows.order_by("pk").values_list("person_id", "group__display_name", "group__external_id"):
        found[person] += filter(None, names)
    return found


def _managed(provider: IdentityProvider, names: Iterable[str]) -> set[str]:
    wanted = [*names]
    if not wanted:
        return set()
    rows = DirectoryGroup.objects.filter(Q(display_name__in=wanted) | Q(external_id__in=wanted), provider=provider)
    return {each for row in rows.values_list("display_name", "external_id") for each in row if each}


def _attributes_of(person: DirectoryPerson) -> dict[str, Any]:
    """Return the attributes of a person as claims: by their own names and, for the usual ones, by those of OpenID."""
    stored = person.attributes
    name = stored.get("name") or {}
    named = {
        "userName": person.user_name,
        "externalId": person.external_id,
        "given_name": name.get("givenName"),
        "family_name": name.get("familyName"),
        "name": stored.get("displayName") or name.get("formatted"),
    }
    plain = {each: value for each, value in {**stored, **stored.get(ENTERPRISE, {})}.items() if isinstance(value, str)}
    return {each: value for each, value in {**plain, **named}.items() if value}
