"""Permission sets in templates (D522), their check and repair (D523), and the pages that list and change them."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from elements.models import InheritedSet
from facets.template_format.set_section import read_set_section
from repository_site.core.problems import Invalid
from repository_site.operations.doctor.findings import Level, Look
from repository_site.operations.doctor.permissions import inherited_sets
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office
from tests.release.house import ID, MakeClient
from tests.release.set_keeper import SETS, Keeper, grant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rival")]
FACET = "rest/permissions/facets/it"


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.long
def test_templates_contain_sets(keeper: Keeper, tmp_path: Path) -> None:
    plain = run("export_template", "acme", "house")
    keeper.limit("house", groups=[grant("crew", "show")])
    keeper.limit("order", mode="extend", users=[grant("anna", "show", "edit")])
    keeper.limit("released", mode="stop")
    assert keeper.put(FACET, {"userGroups": [grant("crew", "show")]}).status_code == 200
    exported: dict[str, Any] = json.loads(run("export_template", "acme", "house"))
    section: dict[str, Any] = {
        "facets": {"it": {"show": [ID["crew"]]}},
        "elements": {
            ID["house"]: {"mode": "replace", "show": [ID["crew"]]},
            ID["order"]: {"mode": "extend", "show": [ID["anna"]], "edit": [ID["anna"]]},
            ID["released"]: {"mode": "stop"},
        },
    }
    assert exported == {**json.loads(plain), "permissionSets": section}
    file = tmp_path / "own.json"

    def update(sets: Any, *more: str) -> list[str]:
        file.write_text(json.dumps({**json.loads(plain), **({} if sets is None else {"permissionSets": sets})}))
        return run("update_configuration", "acme", "house", str(file), *more).splitlines()

    before = keeper.get(f"{SETS}/{ID['order']}").json()
    assert update(None) == update(section) == []
    assert update({}, "--dry-run") == [
        "- permissionSets.facets.it",
        *(f"- permissionSets.elements.{ID[name]}" for name in ("house", "order", "released")),
    ]
    assert len(update({})) == 4
    assert keeper.get(f"{SETS}/{ID['order']}").json() == {"id": None, "users": [], "userGroups": []}
    assert len(update(section)) == 4
    after = keeper.get(f"{SETS}/{ID['order']}").json()
    assert {**after, "id": ""} == {**before, "id": ""}
    changed = {**section, "elements": {**section["elements"], ID["released"]: {"show": [ID["crew"].upper()]}}}
    assert update(changed) == [
        f'~ permissionSets.elements.{ID["released"]}: {{"mode": "stop"}} -> '
        f'{{"mode": "replace", "show": ["{ID["crew"]}"]}}'
    ]


def test_sections_with_problems_are_refused() -> None:
    wrong = {
        "facets": {"gone": {}, "it": {"see": []}},
        "elements": {"x": {}, ID["house"]: {"mode": "end"}, ID["order"]: {"mode": "stop", "show": ["y"]}},
    }
    with pytest.raises(Invalid) as refused:
        read_set_section({"facets": {"it": {}}, "permissionSets": wrong})
    places = [each.partition(": ")[0].removeprefix("permissionSets.") for each in refused.value.details]
    assert places == [
        "facets.gone", "facets.it.see", "elements.x", f"elements.{ID['house']}.mode",
        f"elements.{ID['order']}.show[0]", f"elements.{ID['order']}.mode",
    ]  # fmt: skip


def test_wrong_rows_are_found_and_corrected(house: Storage, keeper: Keeper) -> None:
    keeper.limit("released", groups=[grant("crew", "show")])
    assert run("rebuild_permissions", "acme", "house", "--dry-run") == "acme/house: 0 rows are wrong\n"
    with tenant_scope(house):
        InheritedSet.objects.filter(id=ID["released-task"]).delete()
        InheritedSet.objects.create(id=ID["order"], set_number=7, facet_number=0)
    [found] = inherited_sets(Look(names=True))
    assert (found.level, found.text.endswith("acme/house: 2")) == (Level.ERROR, True)
    assert run("rebuild_permissions", "acme", "house", "--dry-run") == "acme/house: 2 rows are wrong\n"
    assert run("rebuild_permissions", "acme", "house") == "acme/house: 2 rows corrected\n"
    [found] = inherited_sets(Look())
    assert found.level is Level.OK
    with tenant_scope(house):
        assert not InheritedSet.objects.filter(id=ID["order"]).exists()


def test_page_lists_sets_and_limits_facets(house: Storage, keeper: Keeper, desk: MakeClient) -> None:
    office = Office(house, Role.ADMINISTRATOR)
    assert "No element has a permission set" in office.page("permission-sets/")
    form = "permission-sets/facets/it/"
    assert "Inherited limits" not in office.page(form)
    assert office.post(form, {"show": ID["crew"]}).status_code == 302
    assert desk(user="anna").get("rest/facets/it/views").status_code == 404
    keeper.limit("order", mode="extend", users=[grant("anna", "show")])
    listed = office.page("permission-sets/")
    for text in ("Show: Crew", "not limited", "are added to the inherited ones"):
        assert text in listed
    refused = office.post(form, {"show": ID["erp"]})
    assert (refused.status_code, "is not a user or a group" in refused.content.decode()) == (422, True)
    assert office.post(form, {}).status_code == 302
    assert desk(user="anna").get("rest/facets/it/views").status_code == 200
    assert Office(house, Role.ARCHITECT).get("permission-sets/").status_code == 403
