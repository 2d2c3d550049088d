"""Trees of any depth: a page shows some levels, and links to the rest."""

from __future__ import annotations

from uuid import UUID

import pytest

from elements.models import Element, ElementVersion
from elements.presentation.trees import LEVELS
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office

pytestmark = [pytest.mark.long, pytest.mark.django_db]
DEPTH = 200


def level(number: int) -> UUID:
    return UUID(int=0xABC000 + number)


@pytest.fixture
def deep(handbook: Storage) -> Storage:
    """A chain of sub processes below `order`; the place of `order` itself is the third level."""
    with tenant_scope(handbook):
        order, version = Element.objects.get(id=ID["order"]), ElementVersion.objects.get(id=ID["order-2"])
        for number in range(DEPTH):
            parent = level(number - 1) if number else order.id
            fields = {"creation_id": level(number), "type_id": order.type_id, "parent_id": parent}
            Element.objects.create(id=level(number), **fields)
            version.pk, version.element_id = level(number + DEPTH), level(number)
            version.save(force_insert=True)
            Element.objects.filter(id=level(number)).update(newest_id=version.pk, published_id=version.pk)
    return handbook


def test_the_deepest_element_of_a_reader_tree(deep: Storage) -> None:
    office = Office(deep, Role.VIEWER)
    page = office.get(f"/acme/handbook/1033/processes/?open={level(DEPTH - 1)}").content.decode()
    shown = [number for number in range(DEPTH) if f'id="e-{level(number)}"' in page]
    assert shown == list(range(LEVELS - 3))
    assert page.count("Only the first children are shown") == 1


def test_the_deepest_element_of_the_back_office(deep: Storage) -> None:
    office = Office(deep, *Role)
    opened = [ID["house"], ID["sales"], ID["order"], *(str(level(number)) for number in range(DEPTH))]
    page = office.get(f"elements/tree/?facet=processes&open={','.join(opened[: LEVELS + 2])}").content.decode()
    shown = [number for number in range(DEPTH) if f'id="at-{level(number)}"' in page]
    assert shown == list(range(LEVELS - 3))
    assert page.count("There are more: show them as a list") == 1
    element = office.get(f"elements/element/{level(DEPTH - 1)}/change/")
    assert element.status_code == 200
    assert element.content.decode().count(str(level(0))) >= 1
