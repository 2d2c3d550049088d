"""Editing the configuration in the back office: the API returns what was saved.

Two storages come from the same template, so their rows have the same ids; a change must not reach the other storage.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from facets import models
from facets.changing.changes import change_configuration
from facets.template_format.reading import read_template
from storage.models import Event, StaffAccount, Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.facets.office_forms import OLD, ConfigurationOffice, added, address, changed, revision, row_number, stored
from tests.facets.small_template import small_template

pytestmark = pytest.mark.django_db
THINGS = "/acme/small/_api/rest/facets/things%2C%20%C3%A9tc./views"
PEOPLE = "/acme/small/_api/rest/facets/people/views/all%20of%20it/config"
TREE = f"{THINGS}/Tree/config"


def test_the_api_answers_a_saved_name(small: Storage, office: ConfigurationOffice, api: ApiClient) -> None:
    before = api.get(PEOPLE).json()
    path = address(small, models.Property, type__key="person", key="age")
    form = office.form(path)
    response = office.save(path, changed(form, display_names__1031="Alter"))
    assert response.status_code == 302
    expected = copy.deepcopy(before)
    expected["values"][0]["properties"][1]["displayNames"] = {"1031": "Alter", "1033": "Age"}
    assert api.get(PEOPLE).json() == expected


def test_a_saved_change_is_an_event(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.Property, type__key="person", key="age")
    form = office.form(path)
    assert office.save(path, form).status_code == 302
    response = office.save(path, changed(form, display_names__1031="Alter"))
    with tenant_scope(small):
        found = Event.objects.filter(type="configuration.changed").get()
    account = StaffAccount.objects.get()
    assert (found.subject_id, found.data, found.caller_label, found.request_id, found.is_public) == (
        small.id,
        {"changes": ["types.person"]},
        f"staff:{account.pk}",
        response["X-Request-ID"],
        False,
    )


@pytest.mark.long
def test_saving_a_form_without_changes_changes_nothing(small: Storage, office: ConfigurationOffice) -> None:
    """Posting a form without changes does not change the revision."""
    before = revision(small)
    paths = [
        address(small, models.Facet, name="people"),
        address(small, models.FacetView, name="Tree"),
        address(small, models.ElementType, key="Thing"),
        address(small, models.ElementType, key="dot"),
        address(small, models.Property, type__key="person", key="name"),
        address(small, models.Property, key="größe"),
        address(small, models.Property, key="holder"),
        address(small, models.Property, key="friends"),
        address(small, models.Layout, key="flat"),
        address(small, models.ReleaseCycle, key="slow"),
        address(small, models.ValidationRule, key="named"),
        address(small, models.ValidationRule, key="held"),
    ]
    for path in paths:
        assert office.save(path, office.form(path)).status_code == 302, path
    assert stored(small) == OLD
    assert revision(small) == before


def test_the_preview_writes_nothing_and_matches_the_later_answer(
    small: Storage, office: ConfigurationOffice, api: ApiClient
) -> None:
    path = address(small, models.ElementType, key="Thing")
    values = changed(office.form(path), descriptions__1033="A thing.", properties__0__display_names__1033="Title")
    before = revision(small)
    preview = office.save(path, values, "_preview").json()
    assert (revision(small), stored(small)) == (before, OLD)
    assert preview["problems"] == preview["obstacles"] == []
    assert preview["differences"] == [
        "~ types.Thing.descriptions: {1031: 'Ein Ding.'} -> {1031: 'Ein Ding.', 1033: 'A thing.'}",
        "~ types.Thing.properties.name.display_names: {1031: 'Name', 1033: 'Name'} -> {1031: 'Name', 1033: 'Title'}",
    ]
    assert office.save(path, values).status_code == 302
    answers = {each["address"]: each["body"] for each in preview["answers"]}
    assert list(answers) == [
        "rest/facets/things%2C%20%C3%A9tc./views/all%20of%20it/config/Thing",
        "rest/facets/things%2C%20%C3%A9tc./views/Tree/config/Thing",
    ]
    for place, body in answers.items():
        assert api.get(f"/acme/small/_api/{place}").json() == body


def test_the_preview_of_a_facet_has_its_lists(small: Storage, office: ConfigurationOffice, api: ApiClient) -> None:
    path = address(small, models.Facet, name="people")
    preview = office.save(path, changed(office.form(path), display_names__1031="Leute"), "_preview").json()
    office.save(path, changed(office.form(path), display_names__1031="Leute"))
    for each in preview["answers"]:
        response = api.get(f"/acme/small/_api/{each['address']}", headers={"api-version": "4.0"})
        assert response.json() == each["body"]


def test_the_preview_without_a_script(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ElementType, key="box")
    response = office.save(path, changed(office.form(path), color="#ffffff"), "_check")
    page = response.content.decode()
    assert "~ types.box.color: #AABBCC -&gt; #FFFFFF" in page
    assert "This can be saved." in page
    assert "Please correct" not in page
    assert stored(small) == OLD


def test_unused_entries_can_be_renamed_and_keep_their_rows(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ElementType, key="box")
    assert office.save(path, changed(office.form(path), key="crate")).status_code == 302
    assert address(small, models.ElementType, key="crate") == path
    document = small_template(**{"types.Thing.parents": ["crate"]})
    document["types"] = {("crate" if key == "box" else key): value for key, value in document["types"].items()}
    document["facets"]["things, étc."]["views"]["Tree"].update(types=["crate", "Thing"], rootTypes=["crate"])
    assert stored(small) == read_template(document)


def test_names_can_be_swapped(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ReleaseCycle, key="quick")
    response = office.save(path, changed(office.form(path), states__1__key="gone", states__2__key="out"))
    assert response.status_code == 302
    assert [(state.key, state.category) for state in stored(small).cycles[0].states] == [
        ("open", "draft"),
        ("gone", "published"),
        ("out", "retired"),
    ]
    assert stored(small).cycles[0].transitions[0].target == "gone", "transitions know states, not their names"
    path = address(small, models.Property, type__key="person", key="age")
    page = address(small, models.ElementType, key="person")
    form = office.form(page)
    assert office.save(page, changed(form, properties__1__key="friends", properties__2__key="age")).status_code == 302
    assert [each.key for each in stored(small).types[3].properties] == ["name", "friends", "age"]
    assert address(small, models.Property, type__key="person", key="friends") == path


def test_properties_can_be_ordered(small: Storage, office: ConfigurationOffice, api: ApiClient) -> None:
    path = address(small, models.ElementType, key="person")
    values = changed(
        office.form(path), properties__0__position="2", properties__1__position="0", properties__2__position="1"
    )
    assert office.save(path, values).status_code == 302
    assert [each["key"] for each in api.get(PEOPLE).json()["values"][0]["properties"]] == ["age", "friends", "name"]


def test_a_filtered_list_can_be_ordered(small: Storage, office: ConfigurationOffice, api: ApiClient) -> None:
    with tenant_scope(small):
        ids = {row.key: str(row.pk) for row in models.ElementType.objects.all()}
    # The list filtered by a facet shows Thing, box and dot, but not person.
    order = {"dot": 0, "Thing": 1, "box": 2}
    values: dict[str, Any] = {"_save": "1"}
    for number, key in enumerate(("Thing", "box", "dot")):
        values |= {f"form-{number}-id": ids[key], f"form-{number}-position": str(order[key])}
    assert office.post("facets/elementtype/", values).status_code == 302
    assert [each.key for each in stored(small).types] == ["dot", "Thing", "box", "person"]
    with tenant_scope(small):
        facets = [str(row.pk) for row in models.Facet.objects.all()]
    values = {
        "_save": "1",
        "form-0-id": facets[0],
        "form-0-position": "1",
        "form-1-id": facets[1],
        "form-1-position": "0",
    }
    office.post("facets/facet/", values)
    names = [each["name"] for each in api.get("/acme/small/_api/rest/facets").json()["values"]]
    assert names == ["people", "things, étc."]


def test_creating_a_facet_with_a_view_a_type_and_attributes(
    small: Storage, office: ConfigurationOffice, api: ApiClient
) -> None:
    form = changed(office.form("facet/add/"), name="machines", type_name="Machines", display_names__1033="Machines")
    form = added(form, "views", name="list", key="List", display_names__1033="List")
    assert office.save("facet/add/", form).status_code == 302
    with tenant_scope(small):
        facet = models.Facet.objects.get(name="machines")
        view = models.FacetView.objects.get(facet=facet)
    form = changed(
        office.form("elementtype/add/"),
        facet_id=str(facet.pk), key="press", display_names__1031="Presse", display_names__1033="Press",
        color="#00aa00", element_type_name="Press", entity_type_name="Press", views=[str(view.pk)],
    )  # fmt: skip
    form = added(form, "properties", key="name", display_names__1033="Name", holds="attribute:SingleLineText")
    form = added(
        form,
        "properties",
        key="weight",
        display_names__1033="Weight",
        holds="attribute:Decimal",
        is_invariant_culture="on",
    )
    assert office.save("elementtype/add/", form).status_code == 302
    answer = api.get("/acme/small/_api/rest/facets/machines/views/list/config").json()
    empty = {"1031": "", "1033": ""}

    def attribute(key: str, name: str, runtime: str, kind: str, *, invariant: bool) -> dict[str, Any]:
        return {
            "key": key, "displayNames": {"1031": name, "1033": name}, "descriptions": empty, "tooltips": empty,
            "attribute": {"type": runtime, "dataType": kind, "isInvariantCulture": invariant},
        }  # fmt: skip

    assert answer == {
        "count": 1,
        "values": [
            {
                "key": "press",
                "displayNames": {"1031": "Presse", "1033": "Press"},
                "descriptions": empty,
                "properties": [
                    attribute("name", "Name", "System.String", "SingleLineText", invariant=False),
                    attribute("weight", "Weight", "System.Decimal", "Decimal", invariant=True),
                ],
                "layouts": [],
            }
        ],
    }
    assert [each.key for each in stored(small).types] == ["Thing", "box", "dot", "person", "press"]


def test_adding_a_state_and_a_transition_to_it_in_one_form(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ReleaseCycle, key="quick")
    form = office.form(path)
    form = added(form, "states", key="proof", display_names__1033="Proof", category="review")
    source = form["transitions-0-source_state"][0]
    form = added(
        form, "transitions", key="Prove", display_names__1033="Prove", source_state=source, target_state="proof"
    )
    preview = office.save(path, form, "_preview").json()
    assert [each["body"] for each in preview["answers"]] == [
        {
            "count": 2,
            "values": [
                {"transitionId": "Go", "sourceState": "open", "targetState": "out"},
                {"transitionId": "Prove", "sourceState": "open", "targetState": "proof"},
            ],
        }
    ]
    assert office.save(path, form).status_code == 302
    cycle = stored(small).cycles[0]
    assert [state.key for state in cycle.states] == ["open", "out", "gone", "proof"]
    assert [(each.key, each.source, each.target) for each in cycle.transitions] == [
        ("Go", "open", "out"),
        ("Prove", "open", "proof"),
    ]


def test_a_state_with_a_task(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ReleaseCycle, key="quick")
    form = added(office.form(path), "states", key="proof", display_names__1033="Proof", category="review")
    source = form["transitions-0-source_state"][0]
    for key, ways in (("Prove", (source, "proof")), ("Pass", ("proof", "out")), ("Return", ("proof", source))):
        form = added(form, "transitions", key=key, display_names__1033=key, source_state=ways[0], target_state=ways[1])
    assert office.save(path, form).status_code == 302
    form = office.form(path)
    fields: dict[str, Any] = {
        "task": "Proofread", "assignees": ["holder"], "approvals": "0", "due_days": "7", "accept": "Pass",
        "reject": "Return",
    }  # fmt: skip
    assert (
        office.save(path, changed(form, **{f"states__3__{name}": value for name, value in fields.items()})).status_code
        == 302
    )
    state = stored(small).cycles[0].states[3]
    assert (state.task, state.assignees, state.approvals, state.due_days, state.accept, state.reject) == (
        "Proofread", ("holder",), 0, 7, "Pass", "Return",
    )  # fmt: skip
    form = office.form(path)
    refused = office.save(path, changed(form, states__3__accept="Prove"))
    assert refused.status_code == 200
    assert "the transition Prove does not begin in this state" in refused.content.decode()


def test_properties_and_layouts_of_a_type_in_a_view(
    small: Storage, office: ConfigurationOffice, api: ApiClient
) -> None:
    path = address(small, models.FacetView, name="Tree")
    form = office.form(path)
    thing = row_number(form, "types", "shown", form["types-1-shown"][0])
    with tenant_scope(small):
        properties = {row.key: str(row.pk) for row in models.Property.objects.filter(type__key="Thing")}
        flat = str(models.Layout.objects.get(key="flat").pk)
    form = changed(
        form,
        **{f"types__{thing}__shown": [properties["holder"], properties["größe"]], f"types__{thing}__layouts": [flat]},
    )
    assert office.save(path, form).status_code == 302
    shown = api.get(f"{TREE}/Thing").json()["values"][0]
    assert [each["key"] for each in shown["properties"]] == ["holder", "größe"]
    assert [each["key"] for each in shown["layouts"]] == ["flat"]
    form = changed(office.form(path), **{f"types__{thing}__shows_all": "on"})
    assert office.save(path, form).status_code == 302
    assert [each["key"] for each in api.get(f"{TREE}/Thing").json()["values"][0]["properties"]] == [
        "name", "größe", "holder",
    ]  # fmt: skip


def test_properties_of_the_same_definition_can_be_changed_together(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.Property, type__key="Thing", key="name")
    assert "3 other types have a property with the same definition: box, dot, person." in office.page(f"facets/{path}")
    form = changed(office.form(path), display_names__1031="Bezeichnung")
    office.save(path, form)
    german = {"1031": "Bezeichnung", "1033": "Name"}
    alone = small_template()
    alone["types"]["Thing"]["properties"] = [
        {"key": "name", **alone["properties"]["name"], "displayNames": german},
        *alone["types"]["Thing"]["properties"],
    ]
    alone["types"]["Thing"]["properties"][1] = "größe"
    assert stored(small) == read_template(alone)
    path = address(small, models.Property, type__key="box", key="name")
    office.save(path, changed(office.form(path), display_names__1031="Bezeichnung", alike="on"))
    assert stored(small) == read_template(small_template(**{"properties.name.displayNames": german}))


def test_a_selection_with_its_values_is_copied_together(small: Storage, office: ConfigurationOffice) -> None:
    document = small_template()
    document["types"]["box"]["properties"].append("größe")
    change_configuration(small, read_template(document))
    path = address(small, models.Property, type__key="Thing", key="größe")
    form = added(office.form(path), "selectable_values", key="l", display_names__1033="Large")
    assert office.save(path, changed(form, alike="on")).status_code == 302
    document["properties"]["größe"]["attribute"]["selectableValues"].append(
        {"key": "l", "displayNames": {"1033": "Large"}}
    )
    assert stored(small) == read_template(document)


def test_an_attribute_that_becomes_a_related_context_loses_its_values(
    small: Storage, office: ConfigurationOffice
) -> None:
    path = address(small, models.Property, type__key="Thing", key="größe")
    with tenant_scope(small):
        people = str(models.Facet.objects.get(name="people").pk)
        person = str(models.ElementType.objects.get(key="person").pk)
    form = changed(office.form(path), holds=f"related:{people}", related_types=[person], max_occurrence="3")
    assert office.save(path, form).status_code == 302
    with tenant_scope(small):
        assert not models.SelectableValue.objects.filter(property__key="größe").exists()
    found = next(each for each in stored(small).types[0].properties if each.key == "größe")
    assert found.attribute is None
    assert found.related is not None
    assert (found.related.facet, found.related.types, found.related.max_occurrence) == ("people", ("person",), 3)


def test_mandatory_cultures_are_marked_and_texts_of_other_cultures_survive(
    small: Storage, office: ConfigurationOffice
) -> None:
    french = {"1031": "Ding", "1033": "Thing", "1036": "Chose"}
    change_configuration(small, read_template(small_template(**{"types.Thing.displayNames": french})))
    path = address(small, models.ElementType, key="Thing")
    page = office.page(f"facets/{path}")
    assert 'English <span class="texts-lcid">(1033)</span></span><span class="texts-star"' in page
    assert 'Deutsch <span class="texts-lcid">(1031)</span></span></label>' in page
    assert page.count("texts-missing") > 0
    office.save(path, changed(office.form(path), display_names__1031="Gegenstand"))
    with tenant_scope(small):
        names = models.ElementType.objects.get(key="Thing").display_names
    assert names == {"1031": "Gegenstand", "1033": "Thing", "1036": "Chose"}


def test_names_show_in_the_language_of_the_page(small: Storage, office: ConfigurationOffice) -> None:
    """Types without a German name are shown in the default culture."""
    german = office.client.get(f"{office.base}facets/elementtype/", headers={"Accept-Language": "de"}).content.decode()
    english = office.page("facets/elementtype/")
    assert (">Ding<" in german, ">Thing<" in english, ">Box<" in german) == (True, True, True)


def test_lists_are_searched_by_keys_and_names(small: Storage, office: ConfigurationOffice) -> None:
    def found(path: str) -> list[str]:
        page = office.page(f"facets/{path}")
        return re.findall(r'/change/[^"]*" class="text-font-important-light', page)

    assert len(found("property/")) == 8
    assert len(found("property/?q=hold")) == 1
    assert len(found("property/?q=name+person")) == 1
    assert len(found("elementtype/?q=ding")) == 1
    assert len(found("elementtype/?q=nothing")) == 0
