"""Groups of a directory: each function is one transaction that also refreshes the memberships of those concerned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from repository_site.core.problems import Invalid, NotFound
from storage.models import DirectoryGroup, DirectoryMember, DirectoryPerson, IdentityProvider
from storage.scim.accounts import follow_rules
from storage.scim.people import check_version, locked_provider, touch
from storage.single_sign_on.directory import forget_groups

MOST_GROUPS = 2000
log = structlog.get_logger("scim")


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """A group as the directory wants it, with the people that are added and removed; None removes all others."""

    display_name: str
    external_id: str
    added: set[UUID] = field(default_factory=set)
    removed: set[UUID] | None = field(default_factory=set)


@transaction.atomic
def create_group(provider: IdentityProvider, terms: GroupTerms) -> DirectoryGroup:
    locked_provider(provider)
    if provider.groups.count() >= MOST_GROUPS:
        raise Invalid(f"A directory has at most {MOST_GROUPS} groups.")
    now = timezone.now()
    group = DirectoryGroup(provider=provider, version=0, created_on=now, changed_on=now)
    _store(group, terms)
    return group


@transaction.atomic
def change_group(
    provider: IdentityProvider, id: str, expected: str, change: Callable[[DirectoryGroup], GroupTerms]
) -> DirectoryGroup:
    """Change a group to the terms that `change` returns for the locked row."""
    locked_provider(provider)
    group = found_group(provider, id)
    check_version(group, expected)
    _store(group, change(group))
    return group


@transaction.atomic
def delete_group(provider: IdentityProvider, id: str, expected: str) -> None:
    locked_provider(provider)
    group = found_group(provider, id)
    check_version(group, expected)
    people = _touched(Q(pk__in=_members_of(group)))
    forget_groups(provider, {group.display_name, group.external_id} - {""})
    group.delete()
    log.info("group deleted", group=id)
    follow_rules(provider, people)


def _store(group: DirectoryGroup, terms: GroupTerms) -> None:
    provider = group.provider
    named = (terms.display_name, terms.external_id)
    is_renamed = named != (group.display_name, group.external_id)
    rows = DirectoryMember.objects.filter(group=group)
    if terms.removed is not None and not is_renamed:
        rows = rows.filter(person__in=terms.added | terms.removed)
    held = set(rows.values_list("person_id", flat=True))
    added = terms.added - held
    removed = held - terms.added if terms.removed is None else held & terms.removed
    known = DirectoryPerson.objects.filter(provider=provider).in_bulk(added)
    if unknown := added - known.keys():
        raise Invalid(f"members: there is no User {min(unknown)}.")
    if not (added or removed or is_renamed):
        return
    is_new = group.version == 0
    if former := {group.display_name, group.external_id} - {*named, ""}:
        forget_groups(provider, former)
    group.display_name, group.external_id = named
    group.name_key = terms.display_name.casefold()[:255]
    group.version, group.changed_on = group.version + 1, timezone.now()
    group.save()
    DirectoryMember.objects.filter(group=group, person__in=removed).delete()
    DirectoryMember.objects.bulk_create([DirectoryMember(group=group, person_id=each) for each in sorted(added)])
    verb = "created" if is_new else "changed"
    log.info(f"group {verb}", group=str(group.pk), added=len(added), removed=len(removed))
    # Rules compare names, so a new name concerns all members.
    concerned = Q(pk__in=_members_of(group)) if is_renamed and not is_new else Q(pk__in=added)
    follow_rules(provider, _touched(concerned | Q(pk__in=removed)))


def _members_of(group: DirectoryGroup) -> QuerySet[DirectoryMember, Any]:
    return DirectoryMember.objects.filter(group=group).values("person_id")


def _touched(concerned: Q) -> list[DirectoryPerson]:
    """Count a new version of people, and return those with an account."""
    found = DirectoryPerson.objects.filter(concerned)
    touch(found)
    return list(found.exclude(account=None).order_by("pk"))


def found_group(provider: IdentityProvider, id: str) -> DirectoryGroup:
    found = DirectoryGroup.objects.filter(provider=provider, pk=id).first()
    if found is None:
        raise NotFound(f"There is no Group {id}.")
    return found
