"""Refused changes in the back office: each has its reason, nothing is written, and the input is kept."""

from __future__ import annotations

from typing import Any

import pytest

from facets import models
from facets.admin.drafting import model_admin
from facets.changing.changes import change_configuration
from facets.template_format.reading import read_template
from repository_site.core.problems import Busy
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.facets.office_forms import OLD, ConfigurationOffice, address, changed, form_of, revision, row_number, stored
from tests.facets.small_template import small_template

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.mark.parametrize(
    ("model", "wanted", "new", "problem"),
    [
        (models.ElementType, {"key": "box"}, {"key": "thing"}, "differs from &quot;Thing&quot; in letter case only"),
        (models.ElementType, {"key": "box"}, {"key": "dot"}, "Occurs twice"),
        (models.ElementType, {"key": "box"}, {"key": "a/b"}, "is not a valid name"),
        (models.ElementType, {"key": "box"}, {"color": "red"}, "Enter a valid value."),
        (
            models.ElementType,
            {"key": "Thing"},
            {"lives_in_diagrams": "on"},
            "a type that exists only in diagrams cannot have versions",
        ),
        (models.Property, {"key": "age"}, {"key": "my age"}, "is not a valid key"),
        (
            models.Property,
            {"key": "age"},
            {"key": "version"},
            "The server derives version, so its data type must be SingleLineText",
        ),
        (models.Facet, {"name": "people"}, {"name": "THINGS, étc."}, "in letter case only"),
        (models.ReleaseCycle, {"key": "slow"}, {"takes_effect": ""}, None),
        (models.Layout, {"key": "flat"}, {"key": "Wide & high"}, "Occurs twice"),
        (models.ValidationRule, {"key": "held"}, {"transitions": []}, "Name at least one state or transition"),
    ],
)
def test_a_broken_rule_is_shown_at_its_field_and_nothing_is_written(
    small: Storage,
    office: ConfigurationOffice,
    model: Any,
    wanted: dict[str, str],
    new: dict[str, Any],
    problem: str | None,
) -> None:
    path = address(small, model, **wanted)
    before = revision(small)
    values = changed(office.form(path), **new, display_names__1031="Typed", messages__1031="Typed")
    response = office.save(path, values)
    if problem is None:
        assert response.status_code == 302
        return
    page = response.content.decode()
    assert (response.status_code, revision(small), stored(small)) == (200, before, OLD)
    assert problem in page
    assert 'value="Typed"' in page


def test_orphaning_content_is_refused_and_the_input_is_kept(
    small: Storage, office: ConfigurationOffice, in_use: None
) -> None:
    path = address(small, models.Property, type__key="Thing", key="größe")
    values = office.form(path)
    gone = row_number(values, "selectable_values", "key", "s")
    values = changed(values, **{f"selectable_values__{gone}__DELETE": "on"}, display_names__1033="Typed", alike=None)
    preview = office.save(path, values, "_preview").json()
    refusal = "Thing.größe.s: the selectable value is removed, but 7 versions have it."
    assert preview["obstacles"] == [refusal]
    page = office.save(path, values).content.decode()
    assert refusal in page
    assert 'value="Typed"' in page
    assert (
        f'name="selectable_values-{gone}-DELETE" class="parts-gone" id="id_selectable_values-{gone}-DELETE" checked'
        in page
    )
    assert stored(small) == OLD


@pytest.mark.parametrize(
    ("model", "wanted", "new", "refusal"),
    [
        (
            models.ElementType,
            {"key": "person"},
            {"key": "human"},
            "person: the type is removed, but 7 versions have it.",
        ),
        (
            models.Property,
            {"key": "age"},
            {"key": "years"},
            "person.age: the property is removed, but 7 versions have it.",
        ),
        (
            models.Property,
            {"key": "age"},
            {"holds": "attribute:Decimal"},
            "person.age: the data type of the attribute changes, but 7 versions have it.",
        ),
        (
            models.ReleaseCycle,
            {"key": "slow"},
            {"states__1__key": "proofread"},
            "Thing.checked: the state is removed from its release cycle, but 7 versions have it.",
        ),
    ],
)
def test_renaming_entries_in_use_is_refused(
    small: Storage, office: ConfigurationOffice, in_use: None, model: Any, wanted: Any, new: Any, refusal: str
) -> None:
    """Rules that name the old state are reported first."""
    path = address(small, model, **wanted)
    if model is models.ReleaseCycle:
        rule = address(small, models.ValidationRule, key="named")
        office.save(rule, changed(office.form(rule), states=["out"]))
    before = stored(small)
    assert refusal in office.save(path, changed(office.form(path), **new)).content.decode()
    assert stored(small) == before


def test_a_state_cannot_be_removed_while_a_transition_needs_it(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ReleaseCycle, key="slow")
    form = changed(office.form(path), takes_effect="", states__3__DELETE="on")
    page = office.save(path, form).content.decode()
    assert "the transition End needs this state" in page
    assert office.save(path, changed(form, transitions__2__DELETE="on")).status_code == 302
    cycle = stored(small).cycles[1]
    assert [state.key for state in cycle.states] == ["draft", "checked", "out", "gone"]
    assert [each.key for each in cycle.transitions] == ["Check", "Publish"]


def test_a_tree_needs_a_root(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.FacetView, name="Tree")
    page = office.save(path, changed(office.form(path), types__0__is_root=None)).content.decode()
    assert "A hierarchical view needs at least one root type" in page


def test_someone_else_has_changed_the_entry(small: Storage, office: ConfigurationOffice) -> None:
    """The input is kept, and the page shows what saving again would change."""
    path = address(small, models.ElementType, key="box")
    mine, theirs = office.form(path), office.form(path)
    office.save(path, changed(theirs, display_names__1033="Container"))
    response = office.save(path, changed(mine, color="#FFFFFF"))
    page = response.content.decode()
    assert "Another user has changed this since you opened it." in page
    assert "~ types.box.display_names: {1033: &#x27;Container&#x27;} -&gt; {1033: &#x27;Box&#x27;}" in page
    assert "~ types.box.color: #AABBCC -&gt; #FFFFFF" in page
    assert stored(small).types[1].display_names == ((1033, "Container"),)
    again = form_of(page, "elementtype_form")
    assert again["color"] == ["#FFFFFF"]
    assert office.save(path, again).status_code == 302
    assert stored(small) == read_template(small_template(**{"types.box.color": "#FFFFFF"}))


def test_someone_else_has_removed_a_row(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ElementType, key="person")
    form = changed(office.form(path), color="#FFFFFF")
    document = small_template(**{"types.person.properties.2": None})
    change_configuration(small, read_template(document))
    page = office.save(path, form).content.decode()
    assert "Someone else has removed this entry in the meantime. Mark it for deletion and save again." in page
    assert stored(small) == read_template(document)


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.ARCHITECT])
def test_other_roles_have_read_only_access(small: Storage, office: ConfigurationOffice, role: Role) -> None:
    other = ConfigurationOffice(small, role)
    path = address(small, models.ElementType, key="box")
    page = other.page(f"facets/{path}")
    assert "Only administrators of the storage can change the configuration." in page
    assert other.form(path).get("key") is None, "every field is switched off"
    assert 'name="_save"' not in page
    assert "Add property" not in page
    values = office.form(path)
    for button in ("_save", "_preview", "_check"):
        assert other.save(path, values, button).status_code == 403
    assert other.save("elementtype/add/", values).status_code == 403
    assert other.get("facets/elementtype/add/").status_code == 403
    delete = path.replace("change", "delete")
    assert (other.get(f"facets/{delete}").status_code, other.post(f"facets/{delete}", {}).status_code) == (403, 403)
    assert other.post("facets/elementtype/", {"_save": "1"}).status_code == 403
    assert other.get("configuration/compare/").status_code == 200
    assert other.get("configuration/compare/take/?section=types&name=box").status_code == 403
    assert stored(small) == OLD


def test_rows_of_another_storage_do_not_exist(small: Storage, twin: Storage, office: ConfigurationOffice) -> None:
    with tenant_scope(twin):
        made = models.Layout.objects.create(key="secret", display_names={"1033": "Secret"}, position=9)
    for page in ("change", "delete"):
        assert office.get(f"facets/layout/{made.pk}/{page}/").status_code == 404
        assert office.post(f"facets/layout/{made.pk}/{page}/", {"key": "mine", "_save": "1"}).status_code == 404
    values = {"_save": "1", "form-0-id": str(made.pk), "form-0-position": "0"}
    assert office.post("facets/layout/", values).status_code == 404
    path = address(small, models.FacetView, name="Tree")
    page = office.save(path, changed(office.form(path), types__0__layouts=[str(made.pk)])).content.decode()
    assert "is not one of the available choices" in page
    with tenant_scope(twin):
        assert models.Layout.objects.get(pk=made.pk).key == "secret"
        models.Layout.objects.filter(pk=made.pk).delete()


def test_deleting_lists_the_parts_that_are_removed_too(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ElementType, "delete", key="dot")
    page = office.page(f"facets/{path}")
    assert "Delete “dot”?" in page
    for line in ("- types.dot", "~ types.Thing.insertables: [dot] -&gt; nothing"):
        assert line in page
    assert stored(small) == OLD
    assert office.post(f"facets/{path}", {"post": "yes"}).status_code == 302
    document = small_template(**{"types.dot": None, "types.Thing.insertables": None})
    assert stored(small) == read_template(document)


@pytest.mark.parametrize(
    ("model", "wanted", "reason"),
    [
        (
            models.ElementType,
            {"key": "person"},
            "accepts only the type person; without it, every type would be accepted",
        ),
        (models.Property, {"key": "age"}, "person.age: the property is removed, but 7 versions have it."),
        (models.Property, {"key": "holder"}, "no versioned type has a property &quot;holder&quot;"),
        (models.Facet, {"name": "people"}, "move or delete the types of this facet first: person"),
        (models.FacetView, {"facet__name": "people"}, "a facet needs at least one view"),
        (models.ReleaseCycle, {"key": "slow"}, "types use this release cycle: Thing"),
    ],
)
def test_obstacles_to_deleting(
    small: Storage, office: ConfigurationOffice, in_use: None, model: Any, wanted: Any, reason: str
) -> None:
    path = address(small, model, "delete", **wanted)
    assert reason in office.page(f"facets/{path}")
    response = office.post(f"facets/{path}", {"post": "yes"})
    assert (response.status_code, reason in response.content.decode()) == (200, True)
    assert stored(small) == OLD


def test_whole_parts_can_be_deleted(small: Storage, office: ConfigurationOffice) -> None:
    for model, wanted in (
        (models.ValidationRule, {"key": "held"}),
        (models.Property, {"key": "holder"}),
        (models.ReleaseCycle, {"key": "quick"}),
        (models.Layout, {"key": "flat"}),
        (models.FacetView, {"name": "Tree"}),
    ):
        assert office.post(f"facets/{address(small, model, 'delete', **wanted)}", {"post": "yes"}).status_code == 302
    document = small_template(
        **{
            "validationRules.held": None,
            "releaseCycles.quick": None,
            "types.Thing.properties.1": None,
            "layouts.flat": None,
        }
    )
    del document["facets"]["things, étc."]["views"]["Tree"]
    assert stored(small) == read_template(document)


def test_a_busy_storage_keeps_the_input(
    small: Storage, office: ConfigurationOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*args: Any) -> None:
        raise Busy("The storage is being written to. Try again in a moment.", retry_after=5)

    path = address(small, models.Layout, key="flat")
    form = changed(office.form(path), display_names__1031="Typed")
    monkeypatch.setattr(model_admin, "edit_configuration", busy)
    page = office.save(path, form).content.decode()
    assert "The storage is being written to." in page
    assert 'value="Typed"' in page


def test_a_manipulated_form_is_not_a_server_error(small: Storage, office: ConfigurationOffice) -> None:
    path = address(small, models.ElementType, key="box")
    form = office.form(path)
    for values in (
        changed(form, properties__TOTAL_FORMS=None),
        changed(form, facet_id="nonsense"),
        changed(form, facet_id=None),
        changed(form, parents=["nonsense"]),
        changed(form, properties__0__holds="attribute:Nothing"),
        changed(form, properties__0__position="-1"),
        changed(form, display_names__1033="\0"),
        changed(form, display_names__1031="x" * 10_001),
    ):
        for button in ("_save", "_preview", "_check"):
            assert office.save(path, values, button).status_code == 200
    assert stored(small) == OLD
    assert office.get("facets/elementtype/?facet=nonsense").status_code == 404
    assert office.get("facets/elementtype/nonsense/change/").status_code == 404
    assert office.post("facets/elementtype/", {"_save": "1", "form-0-id": "nonsense"}).status_code == 404
