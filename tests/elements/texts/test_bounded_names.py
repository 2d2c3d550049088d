"""Names on pages and in messages are short, however long a name is: a page can have thousands (D433)."""

from __future__ import annotations

from uuid import UUID

import pytest

from elements.models import Element
from elements.reading.names import LONGEST, read_names, read_version_names
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.limited_desk import SYSTEMS, LimitedDesk, system

pytestmark = pytest.mark.django_db
LONG = "x" * 5_000


@pytest.fixture
def desk(api: ApiClient, limited: Storage) -> LimitedDesk:
    return LimitedDesk(limited, api)


def test_names_are_cut_in_the_database(desk: LimitedDesk) -> None:
    ids = [UUID(each) for each in desk.make(SYSTEMS, system("Short"), system(LONG), system("Gone"))]
    desk.execute("UPDATE elements_elementversion SET attributes = attributes - 'name' WHERE sort_name = 'gone'")
    shown = ["Short", LONG[:LONGEST]]
    with tenant_scope(desk.storage):
        versions = dict(Element.objects.filter(id__in=ids).values_list("id", "newest_id"))
        names = read_names(ids, (), 1033, desk.storage.culture_set())
        found = read_version_names([str(each) for each in versions.values()])
    assert found == {str(versions[id]): {"1033": name} for id, name in zip(ids, shown, strict=False)}
    assert names.elements == dict(zip(ids, [*shown, str(ids[2])], strict=True))
