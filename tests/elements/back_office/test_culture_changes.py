"""Data cultures that are added, made mandatory or optional, and removed (D483), and missing translations (D484)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from elements.cultures import clearing, uses
from elements.cultures.changing import add_culture, remove_culture, set_mandatory
from elements.cultures.uses import CultureUses, find_uses
from elements.models import Appearance, Element, ElementChange, ElementVersion, Lane, Permalink, ShapeFlow
from elements.models.appearance import ONLY
from repository_site.core.problems import Conflict, Invalid
from storage.models import Event, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import ID
from tests.elements.office import Office, main_text
from tests.elements.update_desk import UpdateDesk, extended_handbook
from tests.jobs import run_jobs

pytestmark = pytest.mark.django_db
FRENCH = 1036


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def info(desk: UpdateDesk) -> dict[str, Any]:
    found = desk.api.get("/acme/handbook/_api/rest/info", token=desk.anna).json()
    return {key: value for key, value in found.items() if "ultures" in key}


def named(desk: UpdateDesk, text: str | None = "Facture") -> Any:
    return desk.send({"elements": [{"id": ID["invoice"], "attributes": {"name": {str(FRENCH): text}}}]})


def test_a_culture_is_added_and_used_at_once(desk: UpdateDesk) -> None:
    assert named(desk).status_code == 422
    add_culture(desk.storage, FRENCH)
    assert info(desk)["dataCultures"] == [1031, 1033, FRENCH]
    assert FRENCH in info(desk)["optionalCultures"]
    assert named(desk).status_code == 200
    invoice = desk.read("invoice")
    assert invoice["attributes"]["name"][str(FRENCH)] == "Facture"
    assert set(invoice["displayNames"]) == {"1031", "1033", str(FRENCH)}
    assert str(FRENCH) in invoice["attributes"]["gotoUrl"]
    page = desk.api.get(f"/acme/handbook/{FRENCH}/processes/{ID['order-2']}")
    assert page.status_code == 200
    searched = desk.api.get(f"/acme/handbook/_api/rest/search?q=facture&culture={FRENCH}", token=desk.anna)
    assert ID["invoice"] in searched.content.decode()
    # The other storage has not changed.
    assert FRENCH not in desk.rival.culture_set().data
    with tenant_scope(desk.storage):
        changes = [each.data for each in Event.objects.filter(type="configuration.changed")]
    assert changes[-1] == {"changes": [f"cultures.{FRENCH}"]}


def test_mandatory_and_optional(desk: UpdateDesk) -> None:
    add_culture(desk.storage, FRENCH, is_mandatory=True)
    assert FRENCH in info(desk)["mandatoryCultures"]
    set_mandatory(desk.storage, FRENCH, is_mandatory=False)
    assert FRENCH in info(desk)["optionalCultures"]


def test_wrong_changes_are_refused(handbook: Storage) -> None:
    with pytest.raises(Conflict, match=r"already has the culture 1031"):
        add_culture(handbook, 1031)
    with pytest.raises(Invalid, match=r"1 is not a culture id"):
        add_culture(handbook, 1)
    with pytest.raises(Invalid, match=r"has no culture 1036; it has"):
        set_mandatory(handbook, FRENCH, is_mandatory=True)
    with pytest.raises(Conflict, match=r"is the default culture"):
        remove_culture(handbook, handbook.culture_set().default, with_values=True)
    with pytest.raises(Conflict, match=r"1031 is in use: versions with values: \d+"):
        remove_culture(handbook, 1031)


def test_an_unused_culture_is_removed(desk: UpdateDesk) -> None:
    add_culture(desk.storage, FRENCH)
    assert remove_culture(desk.storage, FRENCH) == CultureUses(0, 0, 0, 0)
    assert FRENCH not in info(desk)["dataCultures"]
    assert named(desk).status_code == 422
    assert desk.api.get(f"/acme/handbook/{FRENCH}/processes/{ID['order-2']}").status_code == 404


def test_a_culture_is_removed_with_its_values(desk: UpdateDesk) -> None:
    with tenant_scope(desk.storage):
        titles = {"1031": "Handbuch", "1033": "Handbook"}
        Appearance(id=ONLY, titles=titles, intros={"1031": "Hallo"}, changed_on=timezone.now()).save()
        version = ElementVersion.objects.get(id=ID["order-3"])
        Lane.objects.create(version=version, position=0, name={"1031": "Verkauf", "1033": "Sales"})
        before = ElementVersion.objects.get(id=ID["order-2"])
        uses = find_uses(1031)
        entries = ElementChange.objects.count()
    assert uses == CultureUses(uses.versions, 1, 1, 0)
    assert uses.versions > 3
    assert remove_culture(desk.storage, 1031, with_values=True) == uses
    run_jobs()
    with tenant_scope(desk.storage):
        assert find_uses(1031) == CultureUses(0, 0, 0, 0)
        after = ElementVersion.objects.get(id=ID["order-2"])
        assert after.attributes["name"] == {"1033": "Handle order"}
        assert after.revision != before.revision
        assert (after.state, after.sort_name) == (before.state, before.sort_name)
        [change] = ElementChange.objects.filter(version_id=ID["order-2"])
        assert (change.before, change.after) == (
            {"attributes": {"name[1031]": "Auftrag\nabwickeln"}},
            {"attributes": {"name[1031]": None}},
        )
        assert ElementChange.objects.count() == entries + uses.versions + uses.diagrams
        lane = Lane.objects.get(version=version)
        assert lane.name == {"1033": "Sales"}
        [drawn] = ElementChange.objects.filter(version_id=version.id, action=ElementChange.Action.DRAWN)
        assert (drawn.before, drawn.after) == (
            {"lanes": [{"laneId": str(lane.id), "name": {"1031": "Verkauf", "1033": "Sales"}}]},
            {"lanes": [{"laneId": str(lane.id), "name": {"1033": "Sales"}}]},
        )
        assert Appearance.objects.get(id=ONLY).titles == {"1033": "Handbook"}
        assert Permalink.objects.filter(culture=1031).count() == 0
    assert desk.read("order-2")["attributes"]["name"] == {"1033": "Handle order"}
    with tenant_scope(desk.rival):
        assert find_uses(1031).versions > 3


def test_texts_of_flows_are_in_the_history(desk: UpdateDesk) -> None:
    with tenant_scope(desk.storage):
        flow = ShapeFlow.objects.select_related("shape").exclude(shape__version_id=None)[0]
        ShapeFlow.objects.filter(id=flow.id).update(label={"1031": "ja", "1033": "yes"})
    remove_culture(desk.storage, 1031, with_values=True)
    run_jobs()
    ends = {"shapeId": str(flow.shape_id), "predecessor": str(flow.predecessor_id)}
    with tenant_scope(desk.storage):
        assert ShapeFlow.objects.get(id=flow.id).label == {"1033": "yes"}
        [drawn] = ElementChange.objects.filter(version_id=flow.shape.version_id, action=ElementChange.Action.DRAWN)
    assert drawn.before == {"flows": [{**ends, "label": {"1031": "ja", "1033": "yes"}}]}
    assert drawn.after == {"flows": [{**ends, "label": {"1033": "yes"}}]}


def test_pages_and_changes_before_the_values_are_removed(desk: UpdateDesk) -> None:
    """Elements still have values in a culture that the storage has no more."""
    remove_culture(desk.storage, 1031, with_values=True)
    office = Office(desk.storage, Role.ADMINISTRATOR)
    for path in ("", "edit/", "change/?tab=versions", "change/?tab=record"):
        response = office.get(f"elements/element/{ID['order']}/{path}", follow=True)
        assert response.status_code == 200, path
    assert office.get("elements/element/?untranslated=1031").status_code == 200
    assert b"[1031]" not in b"".join(office.get("elements/element/table/csv/"))
    assert desk.api.get(f"/acme/handbook/1033/processes/{ID['order-2']}").status_code == 200
    assert desk.send({"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": "All"}}}]}).status_code == 200
    run_jobs()
    with tenant_scope(desk.storage):
        assert find_uses(1031) == CultureUses(0, 0, 0, 0)


def test_values_that_are_gone_are_not_in_the_history_again(desk: UpdateDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command and the job may read the same versions before one of them clears them."""
    with tenant_scope(desk.storage):
        versions = [str(each) for each in ElementVersion.objects.values_list("id", flat=True)]
    remove_culture(desk.storage, 1031, with_values=True)
    with tenant_scope(desk.storage):
        for _time in range(2):
            clearing._clear_versions(clearing._writer(desk.storage), versions, "1031")
        entries = ElementChange.objects.filter(caller_label="cultures")
        assert all(each.after for each in entries)
        count = len(entries)
    lane = [[ID["order-3"]], [ID["order-3"]], []]
    monkeypatch.setattr(clearing, "fetch", lambda sql, given: [lane.pop(0)] if sql == clearing._DIAGRAMS else [])
    assert clearing._clear_diagrams(desk.storage, 1031) == 1
    with tenant_scope(desk.storage):
        assert ElementChange.objects.filter(caller_label="cultures").count() == count


def test_the_job_lets_others_run(desk: UpdateDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clearing, "TURN", -1)
    monkeypatch.setattr(clearing, "_VERSIONS", clearing._VERSIONS.replace("LIMIT 100", "LIMIT 2"))
    remove_culture(desk.storage, 1031, with_values=True)
    assert run_jobs().count("cultures.clear") > 2
    with tenant_scope(desk.storage):
        assert find_uses(1031) == CultureUses(0, 0, 0, 0)


def test_values_stay_if_the_culture_is_added_again_meanwhile(desk: UpdateDesk) -> None:
    with tenant_scope(desk.storage):
        before = find_uses(1031)
    remove_culture(desk.storage, 1031, with_values=True)
    add_culture(desk.storage, 1031)
    run_jobs()
    with tenant_scope(desk.storage):
        assert find_uses(1031) == before


def test_the_page_of_a_large_storage_estimates(desk: UpdateDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    with tenant_scope(desk.storage):
        every = find_uses(1033)
        assert find_uses(1033, is_estimate=True) == every
        number = ElementVersion.objects.count()
        assert number == every.versions > 3
        for tested in (3, number - 1):
            with monkeypatch.context() as patched:
                patched.setattr(uses, "_ESTIMATE", uses._ESTIMATE.replace(str(uses.TESTED), str(tested)))
                found = find_uses(1033, is_estimate=True)
            assert (found.versions, found.may_be_more) == (tested, True)
    monkeypatch.setattr(uses, "_ESTIMATE", uses._ESTIMATE.replace(str(uses.TESTED), "3"))
    add_culture(desk.storage, FRENCH)
    office = Office(desk.storage, Role.ADMINISTRATOR)
    page = office.page(f"cultures/{FRENCH}/remove/")
    assert "French may be in use. Removing it also removes its values" in page
    assert "at most 20,000 versions, 20,000 lanes and 20,000 flows. There may be more uses." in page
    assert "versions with values" not in page
    done = office.post(f"cultures/{FRENCH}/remove/", {"with_values": "yes"}, follow=True).content.decode()
    assert "The culture French was removed." in done
    # The removal itself counts everything.
    assert "in the background" not in done


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("set_cultures", "acme", "handbook", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_command(handbook: Storage) -> None:
    assert run("--add", "fr", "--mandatory", "fr").startswith("acme/handbook: 1031, 1033, 1036; default 1033;")
    assert run("--remove", "fr,de", "--preview").startswith("1036: nothing uses it\n1031: ")
    assert FRENCH in handbook.culture_set().data
    assert "1036" not in run("--remove", "fr")
    assert "removed its values from" in run("--remove", "1031", "--with-values")
    with pytest.raises(CommandError, match=r"Name cultures with --add"):
        run()


def test_administrators_change_cultures_on_a_page(handbook: Storage) -> None:
    office = Office(handbook, Role.ADMINISTRATOR)
    assert "German (1031)" in office.page("cultures/")
    added = office.post("cultures/", {"action": "add", "culture": str(FRENCH), "mandatory": "yes"})
    assert added.status_code == 302
    assert re.search(r"French \(1036\) mandatory", office.page("cultures/"))
    office.post("cultures/", {"action": "optional", "culture": str(FRENCH)})
    assert re.search(r"French \(1036\) optional", office.page("cultures/"))
    assert "Nothing uses French." in office.page(f"cultures/{FRENCH}/remove/")
    assert office.post(f"cultures/{FRENCH}/remove/").status_code == 302
    assert "French" not in office.page("cultures/").partition("Add a culture")[0]
    assert "versions with values: " in office.page("cultures/1031/remove/")
    # A form that has shown no uses does not remove any.
    unseen = office.post("cultures/1031/remove/")
    assert (unseen.status_code, "is in use" in main_text(unseen)) == (409, True)
    default = handbook.culture_set().default
    refused = office.post(f"cultures/{default}/remove/", {"with_values": "yes"})
    assert (refused.status_code, "is the default culture" in main_text(refused)) == (409, True)
    for given in ({"action": "add", "culture": "x"}, {"action": "add", "culture": "1031"}, {"culture": "1031"}):
        assert office.post("cultures/", given).status_code in (409, 422)
    assert office.get(f"cultures/{FRENCH}/remove/").status_code == 404
    assert Office(handbook, Role.ARCHITECT).get("cultures/").status_code == 403


def test_a_page_lists_missing_translations(desk: UpdateDesk) -> None:
    office = Office(desk.storage, Role.EDITOR)
    listed = office.page("translations/?culture=1031&facet=processes")
    assert "Invoice" in office.page("translations/?culture=1031")
    assert re.search(r"Invoice Sub process In process .*Edit", listed)
    assert not re.search(r"\bHouse Process house", listed)
    desk.update({"id": ID["invoice"], "attributes": {"name": {"1031": "Rechnung"}}})
    assert "Invoice" not in office.page("translations/?culture=1031&facet=processes")
    # The default culture is complete as well, unless only another one has the value.
    assert "Nothing is missing in English here." in office.page("translations/?culture=1033&facet=users")
    assert office.get("translations/?culture=9&facet=nonsense&after=x").status_code == 200
    with tenant_scope(desk.storage):
        version = Element.objects.get(id=ID["invoice"]).newest_id
    first = office.get(f"translations/?culture=1031&facet=processes&after={version}")
    assert "First page" in main_text(first)
    # A deleted version does not hide what is missing.
    gone = "ffffffff-0000-4000-8000-000000000000"
    assert office.page(f"translations/?culture=1031&facet=processes&after={gone}").count("Edit") > 0
    # A blank text is neither a translation nor something to translate, on the page and in the filter of the list.
    paths = ("translations/?culture=1031&facet=processes", "elements/element/?facet=processes&untranslated=1031")
    for scope, is_missing in (({"1033": "All", "1031": " "}, True), ({"1033": " ", "1031": None}, False)):
        desk.update({"id": ID["invoice"], "attributes": {"scope": scope}})
        assert ["Invoice Sub process" in office.page(path) for path in paths] == [is_missing, is_missing]
