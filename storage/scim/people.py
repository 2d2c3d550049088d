"""People of a directory: each function is one transaction that writes the person, the account and the memberships."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from repository_site.core.problems import Conflict, Invalid, NotFound, PreconditionFailed, Unauthenticated
from storage.access.tokens import REFUSED
from storage.models import DirectoryGroup, DirectoryMember, DirectoryPerson, IdentityProvider
from storage.scim.accounts import release_account, settle_account

MOST_PEOPLE = 50_000
log = structlog.get_logger("scim")


@dataclass(frozen=True, slots=True)
class PersonTerms:
    """A person as the directory wants it. `attributes` has everything that is not a column."""

    user_name: str
    external_id: str
    is_active: bool
    attributes: dict[str, Any]


def locked_provider(provider: IdentityProvider) -> None:
    """Let the changes of one directory wait for each other (D546), and apply the provider as it is now: a site
    administrator may have taken a mail domain, or disabled or removed it, while this change has waited."""
    found = IdentityProvider.objects.select_for_update(no_key=True).filter(pk=provider.pk, is_enabled=True)
    held = found.filter(collection=provider.collection_id).first()
    if held is None:
        raise Unauthenticated(REFUSED)
    provider.mail_domains = held.mail_domains


@transaction.atomic
def create_person(provider: IdentityProvider, terms: PersonTerms) -> DirectoryPerson:
    locked_provider(provider)
    if provider.people.count() >= MOST_PEOPLE:
        raise Invalid(f"A directory has at most {MOST_PEOPLE} people.")
    now = timezone.now()
    person = DirectoryPerson(provider=provider, created_on=now, changed_on=now)
    _store(person, terms)
    log.info("person created", person=str(person.pk), active=person.is_active)
    settle_account(provider, person)
    return person


@transaction.atomic
def change_person(
    provider: IdentityProvider, id: str, expected: str, change: Callable[[DirectoryPerson], PersonTerms]
) -> DirectoryPerson:
    """Change a person to the terms that `change` returns for the locked row, unless they are those of the row."""
    locked_provider(provider)
    person = found_person(provider, id)
    check_version(person, expected)
    terms = change(person)
    if terms != PersonTerms(person.user_name, person.external_id, person.is_active, person.attributes):
        person.version += 1
        person.changed_on = timezone.now()
        _store(person, terms)
        log.info("person changed", person=str(person.pk), active=person.is_active)
        settle_account(provider, person)
    elif person.account_id is None:
        # The mail domain may have been assigned since, or the other account with the address is gone.
        settle_account(provider, person)
    return person


@transaction.atomic
def delete_person(provider: IdentityProvider, id: str, expected: str) -> None:
    locked_provider(provider)
    person = found_person(provider, id)
    check_version(person, expected)
    release_account(provider, person)
    groups = DirectoryMember.objects.filter(person=person).values("group_id")
    touch(DirectoryGroup.objects.filter(pk__in=groups))
    person.delete()
    log.info("person deleted", person=id)


def _store(person: DirectoryPerson, terms: PersonTerms) -> None:
    key = terms.user_name.casefold()[:255]
    if DirectoryPerson.objects.filter(provider=person.provider, user_key=key).exclude(pk=person.pk).exists():
        raise Conflict(f"Another person has the userName {terms.user_name}.")
    person.user_name, person.user_key, person.external_id = terms.user_name, key, terms.external_id
    person.is_active, person.attributes = terms.is_active, terms.attributes
    person.save()


def found_person(provider: IdentityProvider, id: str) -> DirectoryPerson:
    found = DirectoryPerson.objects.filter(provider=provider, pk=id).first()
    if found is None:
        raise NotFound(f"There is no User {id}.")
    return found


def check_version(found: DirectoryPerson | DirectoryGroup, expected: str) -> None:
    """Raise PreconditionFailed unless one of the entity tags is the current one."""
    tags = {each.strip() for each in expected.split(",")}
    if expected and not tags & {"*", version_of(found), version_of(found).removeprefix("W/")}:
        raise PreconditionFailed("The resource has changed since it was read.")


def version_of(found: DirectoryPerson | DirectoryGroup) -> str:
    return f'W/"{found.version}"'


def touch(found: Any) -> None:
    """Count a new version of people whose groups, or groups whose members, have changed."""
    found.update(version=F("version") + 1, changed_on=timezone.now())
