"""Names by which filters find versions: the database maintains them, and they never hide a match."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.db import connection

from elements.filters.syntax import fold_case
from elements.models import Element, ElementVersion, VersionName
from elements.naming import FOLDED_LENGTH
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
# Filters, and whether they find a name.
CONDITIONS = {
    "name -eq '{name}'": True,
    "name -eq '{folded}'": False,
    "name[1033] -eq '{name}'": True,
    "name[1031] -eq '{name}'": False,
    "name -in ('x', '{name}')": True,
    "name -in ('{folded}', 'x')": False,
    "StartsWith(name, '{folded}')": True,
    "StartsWith(name, 'Ä')": True,
    "StartsWith(name, '{folded}x')": False,
    "Contains(name, '{end}')": True,
    "Contains(name, 'x{end}')": False,
    "EndsWith(name, '{end}')": True,
    "EndsWith(name, 'x')": False,
    "not StartsWith(name, 'ä')": False,
    "not EndsWith(name, 'x') and StartsWith(name, 'ä')": True,
    "name -ne '{name}'": False,
    "name -eq 'x' or Contains(name, '{end}')": True,
    "name -ge '{name}' and name -le '{name}'": True,
}


def make(api: ApiClient, token: str, **names: str) -> str:
    given = {"type": "subProcess", "rootPath": [{"id": ID["sales"]}], "attributes": {"name": names}}
    response = api.post(PROCESSES, {"elements": [given]}, "application/json", token=token)
    assert response.status_code == 200, response.content
    return str(response.json()["elements"][0]["id"])


def found(api: ApiClient, token: str, condition: str) -> list[str]:
    response = api.get(f"{PROCESSES}?$filter={quote(condition)}", token=token)
    assert response.status_code == 200, response.content
    return [each["id"] for each in response.json()["elements"]]


def kept(storage: Storage, element: str) -> list[str]:
    with tenant_scope(storage):
        names = VersionName.objects.filter(version__element=UUID(element))
        return sorted(names.values_list("folded", flat=True))


@pytest.mark.long
@pytest.mark.on_cluster
def test_letters_are_folded_as_filters_fold_them(db: None) -> None:
    letters = [chr(code) for code in range(1, 0x20000) if not 0xD800 <= code < 0xE000]
    with connection.cursor() as cursor:
        cursor.execute("SELECT array_agg(elements_fold_case(letter)) FROM unnest(%s::text[]) AS letter", [letters])
        (folded,) = cursor.fetchone()
    assert [pair for pair in zip(letters, folded, strict=True) if fold_case(pair[0]) != pair[1]] == []


def test_names_follow_every_change(handbook: Storage, api: ApiClient, architect: str) -> None:
    element = make(api, architect, **{"1033": "Ärger", "1031": "ÄRGER"})
    assert kept(handbook, element) == ["ärger"]

    def update(**attributes: Any) -> None:
        given = {"elements": [{"id": element, "attributes": attributes}]}
        response = api.post(PROCESSES, given, "application/json", token=architect)
        assert response.status_code == 200, response.content

    update(name={"1031": "Zorn"})
    assert kept(handbook, element) == ["zorn", "ärger"]
    with tenant_scope(handbook):
        before = set(VersionName.objects.filter(version__element=UUID(element)).values_list("id", flat=True))
    update(scope={"1033": "wide"})
    with tenant_scope(handbook):
        assert set(VersionName.objects.filter(version__element=UUID(element)).values_list("id", flat=True)) == before
    update(name={"1031": "", "1033": "Peace"})
    assert "peace" in kept(handbook, element)
    assert "zorn" not in kept(handbook, element)
    assert api.delete(f"{PROCESSES}/{element}", token=architect).status_code == 200
    with tenant_scope(handbook):
        assert VersionName.objects.exclude(version__in=ElementVersion.objects.all()).count() == 0
        assert not VersionName.objects.filter(folded="peace").exists()
    for other in Storage.objects.exclude(id=handbook.id):
        with tenant_scope(other):
            assert not VersionName.objects.filter(folded__in=["peace", "ärger"]).exists()


def test_every_imported_version_has_its_names(handbook: Storage) -> None:
    with tenant_scope(handbook):
        expected = {
            (version.id, fold_case(name))
            for version in ElementVersion.objects.all()
            for name in version.attributes.get("name", {}).values()
        }
        assert len(expected) > 20
        assert set(VersionName.objects.values_list("version_id", "folded")) == expected


@pytest.mark.parametrize(
    "length", first_quick([FOLDED_LENGTH + 1, FOLDED_LENGTH, FOLDED_LENGTH - 1, 40, 3 * FOLDED_LENGTH])
)
def test_long_names_and_letter_case(api: ApiClient, architect: str, length: int) -> None:
    name = "Ärger am \u212a" + "o" * (length - 20) + " THE end. "
    assert len(name) == length
    element = make(api, architect, **{"1033": name})
    words = {"name": name, "folded": fold_case(name), "end": "The End. "}
    finds = {each: element in found(api, architect, each.format(**words)) for each in CONDITIONS}
    assert finds == CONDITIONS


@pytest.mark.parametrize("part", first_quick(["100%", "a_b", "c\\\\d", "%", "_", "\\\\"], 3))
def test_special_characters_of_the_database_are_literal(api: ApiClient, architect: str, part: str) -> None:
    element = make(api, architect, **{"1033": f"x {part} y"})
    make(api, architect, **{"1033": "x 100 aXb cd y"})
    ends = make(api, architect, **{"1033": f"x {part}"})
    assert sorted(found(api, architect, f"Contains(name, '{part}')")) == sorted([element, ends])
    assert found(api, architect, f"EndsWith(name, '{part}')") == [ends]
    assert found(api, architect, f"StartsWith(name, 'X {part} ')") == [element]


def test_another_version_of_the_element_does_not_count(handbook: Storage, api: ApiClient, architect: str) -> None:
    """The table has the names of all versions; lists show the version that the reader sees."""
    element = make(api, architect, **{"1033": "Before"})
    with tenant_scope(handbook):
        newest = Element.objects.get(id=element).newest_id
        connection.cursor().execute(
            "INSERT INTO elements_versionname (id, version_id, folded) VALUES (gen_random_uuid(), %s, 'stale')",
            [newest],
        )
    assert found(api, architect, "StartsWith(name, 'before')") == [element]
    assert found(api, architect, "StartsWith(name, 'stale')") == []


@pytest.mark.parametrize(
    "condition", ["= 'order'", "= ANY('{order,bill}')", ">= 'ord' AND n.folded < 'ore'", "^@ 'ord'"]
)
def test_an_index_serves_conditions_under_row_level_security(handbook: Storage, condition: str) -> None:
    test = "starts_with(n.folded, 'ord')" if condition.startswith("^@") else f"n.folded {condition}"
    sql = f"EXPLAIN (COSTS OFF) SELECT n.version_id FROM elements_versionname n WHERE {test}"
    with tenant_scope(handbook), connection.cursor() as cursor:
        cursor.execute("ANALYZE elements_versionname")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(sql)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    (bounds,) = [line for line in plan.splitlines() if "Index Cond" in line]
    assert "name_by_text" in plan
    assert "folded" in bounds
