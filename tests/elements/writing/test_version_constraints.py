"""Constraints of the database on the versions of an element (D21): at most one is open, and one published."""

from __future__ import annotations

from itertools import product
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from elements.models import Element, ElementVersion
from facets.models import ElementType
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.cycles import STANDARD_CYCLES, category

pytestmark = pytest.mark.django_db
STATES = tuple(STANDARD_CYCLES["standard"]["states"])
RULES = ("one_open_version", "one_published_version")
ELEMENT = UUID("7e570000-0000-4000-8000-000000000001")


@pytest.fixture
def house(db: None, limited: Storage) -> Storage:
    """Return a storage with an element that has a twin in another storage."""
    twin = Storage.objects.get(collection__key="rival", key="limited")
    for storage in (twin, limited):
        with tenant_scope(storage):
            Element.objects.create(
                id=ELEMENT, creation_id=ELEMENT, type=ElementType.objects.get(key="subProcess"), position=0
            )
    with tenant_scope(twin):
        for number, state in enumerate(("inProcess", "released")):
            add(state, number)
    return limited


def add(state: str, number: int, element: UUID = ELEMENT) -> ElementVersion:
    now = timezone.now()
    return ElementVersion.objects.create(
        element_id=element,
        state=state,
        category=category(state),
        major=0,
        minor=number,
        sort_name="",
        created_on=now,
        changed_on=now,
    )


def broken_rule(one: str, other: str) -> str | None:
    categories = {category(one), category(other)}
    if categories <= {"draft", "review"}:
        return "one_open_version"
    return "one_published_version" if categories == {"published"} else None


@pytest.mark.long
def test_possible_pairs_of_states(house: Storage) -> None:
    refused = {}
    with tenant_scope(house):
        for one, other in product(STATES, repeat=2):
            try:
                with transaction.atomic():
                    for number, state in enumerate((one, other)):
                        add(state, number)
                    transaction.set_rollback(True)
            except IntegrityError as problem:
                refused[one, other] = next(name for name in RULES if name in str(problem))
    expected = {(one, other): broken_rule(one, other) for one, other in product(STATES, repeat=2)}
    assert refused == {pair: rule for pair, rule in expected.items() if rule}
    assert (len(refused), refused["inReview", "inProcess"], refused["released", "inEffect"]) == (16 + 9, *RULES)


def test_one_open_beside_one_published_beside_many_retired(house: Storage) -> None:
    with tenant_scope(house):
        for number, state in enumerate(("expired", "expired", "released", "inProcess")):
            add(state, number)
        assert ElementVersion.objects.filter(element_id=ELEMENT).count() == 4


def test_constraints_apply_to_changes_of_the_state(house: Storage) -> None:
    with tenant_scope(house):
        add("released", 0)
        draft = ElementVersion.objects.filter(id=add("inProcess", 1).id)
        draft.update(state="inReview", category="review")
        with pytest.raises(IntegrityError, match="one_published_version"), transaction.atomic():
            draft.update(state="released", category="published")


def test_constraints_are_per_element(house: Storage) -> None:
    with tenant_scope(house):
        other = Element.objects.create(creation_id=uuid4(), type=ElementType.objects.get(key="subProcess"), position=0)
        for element in (ELEMENT, other.id):
            for number, state in enumerate(("released", "inProcess")):
                add(state, number, element)
