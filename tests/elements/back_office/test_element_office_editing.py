"""Creating, changing and deleting elements in the back office: the API returns the typed values, and a refused form keeps
them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from django.db import transaction

from elements.models import Element, ElementChange, ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.office import Office, form_data, main_text
from tests.elements.workshop import ID, Wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db
FORMS: dict[Any, Wire] = {}
HTML = '<?xml version="1.0" encoding="utf-8"?>'
FILE = {"address": "a1", "fullAddress": "https://x.example/a1", "title": "Board"}


@pytest.fixture
def office(workshop: Storage) -> Office:
    return Office(workshop, Role.ADMINISTRATOR)


@pytest.fixture
def form(office: Office, workshop: Storage) -> Wire:
    """The form of `thing` before any change. It is read once, because all tests roll back."""
    FORMS[workshop.pk] = FORMS.get(workshop.pk) or office.form(edit("thing"))
    return dict(FORMS[workshop.pk])


class Api:
    """Return the response of the API, for comparison."""

    def __init__(self, storage: Storage, client: ApiClient) -> None:
        self.token, self.client = token_for(storage, Role.ADMINISTRATOR), client

    def element(self, name: str) -> Wire:
        path = f"/acme/workshop/_api/rest/facets/things/views/detail/elements/{ID.get(name, name)}"
        response = self.client.get(path, token=self.token)
        assert response.status_code == 200, response.content
        return dict(response.json()["elements"][0])

    def update(self, element: Wire) -> None:
        path = "/acme/workshop/_api/rest/facets/things/views/detail/elements"
        body = json.dumps({"elements": [element]})
        response = self.client.post(path, body, content_type="application/json", token=self.token)
        assert response.status_code == 200, response.content


@pytest.fixture
def wire(workshop: Storage, api: ApiClient) -> Api:
    return Api(workshop, api)


def edit(name: str) -> str:
    return f"elements/element/{ID.get(name, name)}/edit/"


def save(office: Office, name: str, **typed: Any) -> Any:
    """Submit the form of an element with these fields changed; `__` means `-` in their names."""
    data = office.form(edit(name))
    return office.post(edit(name), {**data, **{key.replace("__", "-"): value for key, value in typed.items()}})


def kept(storage: Storage) -> list[Any]:
    """Return all values that an edit could change."""
    with tenant_scope(storage):
        versions = ElementVersion.objects.order_by("id").values_list("id", "attributes", "revision", "stereotype")
        return [list(versions), list(Element.objects.order_by("id").values_list("id", "parent_id"))]


Case = TypeVar("Case", bound=tuple[Any, ...])


def together(cases: Iterable[Case]) -> list[list[Case]]:
    """Divide cases into lists in which no two fill in the same field, which is the first part of a case."""
    found: list[list[Case]] = []
    for case in cases:
        free = [each for each in found if case[0] not in {other[0] for other in each}]
        if free:
            free[0].append(case)
        else:
            found.append([case])
    return found


TYPED: list[tuple[str, Any, str, str, Any]] = [
    ("a-name-1033", "A better name", "name", "1033", "A better name"),
    ("a-text-1031", "Zwei\r\nZeilen\r\n", "text", "1031", "Zwei\nZeilen\n"),
    ("a-markup-1033", "<p>Hi &amp; bye</p>", "markup", "1033", f"{HTML}<p>Hi &amp; bye</p>"),
    ("a-color", "green", "color", "127", "green"),
    ("a-colors", ["red", "blue"], "colors", "127", ["red", "blue"]),
    ("a-flag", "true", "flag", "127", True),
    ("a-flag", "false", "flag", "127", False),
    ("a-count", "-42", "count", "127", -42),
    ("a-count", "0", "count", "127", 0),
    ("a-cost", "12.50", "cost", "127", 12.5),
    ("a-cost", "12345678901234567890.125", "cost", "127", 12345678901234567890.125),
    ("a-day", "2026-12-31", "day", "127", "2026-12-31"),
    ("a-moment", "2026-12-31T13:45", "moment", "127", "2026-12-31T13:45:00"),
    ("a-moment", "2026-12-31T13:45:10.500", "moment", "127", "2026-12-31T13:45:10.5"),
    ("a-validFrom", "2026-07-01T08:00", "validFrom", "127", "2026-07-01T08:00:00"),
    ("a-home", "https://x.example/?a=1&b=2", "home", "127", "https://x.example/?a=1&b=2"),
    ("a-files", json.dumps([FILE]), "files", "127", [FILE]),
]


def test_the_api_returns_the_typed_values(office: Office, form: Wire, wire: Api) -> None:
    for cases in together(TYPED):
        before = wire.element("thing")["attributes"]
        with transaction.atomic():
            response = office.post(edit("thing"), {**form, **{field: typed for field, typed, *_ in cases}})
            assert response.status_code == 302, main_text(response)
            after = wire.element("thing")["attributes"]
            transaction.set_rollback(True)
        expected = {(attribute, culture): value for _, _, attribute, culture, value in cases}
        assert {place: after[place[0]][place[1]] for place in expected} == expected
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        assert changed - {"changedOn"} <= {attribute for attribute, _ in expected}


def test_an_unchanged_form_changes_nothing(office: Office, workshop: Storage) -> None:
    """Browsers write some values differently from how they are stored."""
    values = {
        "a-text-1031": "Zwei\r\nZeilen\r\n", "a-colors": ["blue", "red"], "a-flag": "false", "a-cost": "12.50",
        "a-moment": "2026-12-31T13:45", "a-files": json.dumps([FILE]), "a-markup-1033": "<p>x</p>", "r-parts": ID["part"],
    }  # fmt: skip
    assert save(office, "thing", **values).status_code == 302
    before = kept(workshop)
    sent = office.form(edit("thing"))
    assert (sent["a-moment"], sent["a-colors"]) == ("2026-12-31T13:45:00", ["red", "blue"])
    sent |= {"a-moment": "2026-12-31T13:45", "a-text-1031": sent["a-text-1031"].replace("\n", "\r\n")}
    response = office.client.post(f"{office.base}{edit('thing')}", sent, follow=True)
    assert "Nothing was changed." in response.content.decode()
    assert kept(workshop) == before


def test_an_emptied_field_removes_the_value(office: Office, wire: Api) -> None:
    values = {"a-text-1033": "Text", "a-count": "1", "a-colors": ["red"], "a-flag": "true", "stereotype": "special"}
    assert save(office, "thing", **values).status_code == 302
    assert wire.element("thing")["stereotype"] == "special"
    emptied = {**office.form(edit("thing")), **dict.fromkeys(values, "")}
    emptied.pop("a-colors")
    assert office.post(edit("thing"), emptied).status_code == 302
    after = wire.element("thing")
    assert not {"text", "count", "colors", "flag"} & after["attributes"].keys()
    assert "stereotype" not in after


def test_only_changed_values_are_sent(office: Office, workshop: Storage) -> None:
    """A value that the configuration no longer allows, or that a form cannot show exactly, stays until a user changes it."""
    odd = {"color": {"127": "purple"}, "count": {"127": "many"}, "text": {"1033": "one\r\ntwo\r"}}
    with tenant_scope(workshop):
        version = ElementVersion.objects.get(id=ID["thing-1"])
        version.attributes = {**version.attributes, **odd}
        version.save()
    assert save(office, "thing", **{"a-name-1033": "Renamed"}).status_code == 302
    with tenant_scope(workshop):
        version = ElementVersion.objects.get(id=ID["thing-1"])
        change = ElementChange.objects.get(element_id=ID["thing"])
    assert {key: version.attributes[key] for key in odd} == odd
    assert change.after == {"attributes": {"name[1033]": "Renamed"}}


def test_references_keep_their_order(office: Office, wire: Api) -> None:
    both = [ID["part-2"], ID["part"]]
    assert save(office, "other", **{"r-parts": ",".join(both)}).status_code == 302
    assert [each["id"] for each in wire.element("other")["related"]["parts"]] == both
    assert "Second part Part Part Part" in main_text(office.get(edit("other")))
    assert save(office, "other", **{"r-parts": ""}).status_code == 302
    assert "parts" not in wire.element("other").get("related", {})


def test_another_parent_moves_an_element(office: Office, wire: Api) -> None:
    assert save(office, "thing", parent=ID["shelf"]).status_code == 302
    assert [each["id"] for each in wire.element("thing")["rootPath"]] == [ID["shelf"]]
    assert save(office, "thing", parent="").status_code == 302
    assert "rootPath" not in wire.element("thing")


WRONG: list[tuple[str, Any, str]] = [
    ("a-name-1033", "two\nlines", "Must be a single line."),
    ("a-markup-1033", "<p>open", "Is not well-formed"),
    ("a-markup-1031", "<script>x</script>", "Must not contain the element script"),
    ("a-color", "pink", "Must be one of red, green, blue."),
    ("a-colors", ["red", "pink"], "Must be one of red, green, blue."),
    ("a-flag", "perhaps", "Must be true or false."),
    ("a-count", "many", "Must be a whole number of up to 64 bits."),
    ("a-count", str(2**70), "Must be a whole number of up to 64 bits."),
    ("a-cost", "1,5", "Must be a number."),
    ("a-cost", "NaN", "Must be a number."),
    ("a-day", "31.12.2026", "Must be a date such as 2026-12-31."),
    ("a-moment", "noon", "Must be a date-time such as"),
    ("a-validFrom", "2026-03-29T02:30:00", "Does not exist in Europe/Berlin"),
    ("a-home", "javascript:alert(1)", "Must not be an address that runs code."),
    ("a-files", '[{"title": "x"}]', "Must contain files with an address; all fields must be text."),
    ("r-parts", f"{ID['part']},{ID['part-2']},{ID['part']}", "3 references; at most 2 are allowed."),
    ("r-parts", ID["box"], "Has the type box; expected part."),
    ("r-parts", ID["part"].replace("8000", "9000"), "There is no element"),
    (
        "parent",
        ID["part"],
        "Elements of type thing cannot be placed below elements of type part; possible parents: box or thing.",
    ),
    ("parent", ID["thing"], "is the element itself or below it; choose another parent."),
    ("stereotype", "x" * 201, "Must be a single line of up to 200 characters."),
]


# They are reported before all others.
UNREADABLE = [("a-files", "[{", "Invalid JSON"), ("r-parts", "nonsense", "Choose elements from the list.")]


def test_problems_are_shown_at_their_fields_and_input_is_kept(office: Office, form: Wire, workshop: Storage) -> None:
    before = kept(workshop)
    for cases in (*together(WRONG), UNREADABLE):
        data = {**form, "a-text-1033": "  typed\n before ", **{field: typed for field, typed, _ in cases}}
        response = office.post(edit("thing"), data)
        page = response.content.decode()
        assert response.status_code == 422
        shown = {field: page.partition(f'id="errors-{field}"')[2].partition("</div>")[0] for field, *_ in cases}
        missing = {field: shown[field] for field, _, words in cases if words.lower() not in shown[field].lower()}
        assert missing == {}, main_text(response)[:600]
        assert "Nothing was saved. Your input is kept." in main_text(response)
        returned = form_data(response)
        assert {key: returned.get(key) for key in data} == data
    assert kept(workshop) == before


def test_all_problems_are_shown_at_once(office: Office) -> None:
    response = save(office, "thing", **{"a-count": "many", "a-flag": "perhaps", "a-day": "soon"})
    assert response.status_code == 422
    for field in ("a-count", "a-flag", "a-day"):
        assert f'id="errors-{field}"' in response.content.decode()


def test_the_second_user_keeps_their_input_and_sees_the_stored_values(
    office: Office, wire: Api, workshop: Storage
) -> None:
    data = office.form(edit("thing"))
    wire.update(
        {
            "id": ID["thing"],
            "attributes": {"name": {"1033": "Theirs"}, "text": {"1033": "Their text"}, "count": {"127": 7}},
        }
    )
    mine = {**data, "a-name-1033": "Mine", "a-text-1031": "Mein Text"}
    response = office.post(edit("thing"), mine)
    assert response.status_code == 412
    text = main_text(response)
    assert "has changed this element since you opened it" in text
    assert "changed by both of you Stored now: Theirs" in text
    assert "Stored now: Their text" not in text
    assert wire.element("thing")["attributes"]["name"]["1033"] == "Theirs"
    returned = form_data(response)
    expected = {"a-name-1033": "Mine", "a-text-1031": "Mein Text", "a-text-1033": "Their text", "a-count": "7"}
    assert {key: returned[key] for key in expected} == expected
    assert office.post(edit("thing"), returned).status_code == 302
    after = wire.element("thing")["attributes"]
    assert after["name"]["1033"] == "Mine"
    assert after["text"] == {"1031": "Mein Text", "1033": "Their text"}
    assert after["count"] == {"127": 7}


def test_only_open_properties_of_a_released_version_can_be_changed(office: Office, wire: Api) -> None:
    data = office.form(edit("gone"))
    assert {key for key in data if key.startswith(("a-", "r-", "parent", "stereo"))} == {"a-note"}
    assert office.post(edit("gone"), {**data, "a-note": "Noted", "a-name-1033": "Sneaked in"}).status_code == 302
    after = wire.element("gone")["attributes"]
    assert (after["note"], after["name"]["1033"]) == ({"127": "Noted"}, "Gone")


def test_authors_but_not_other_editors_change_their_element(workshop: Storage, office: Office) -> None:
    assert save(office, "thing", **{"r-author": ID["anna"]}).status_code == 302
    anna, ben = (Office(workshop, Role.EDITOR, user_id=ID[name]) for name in ("anna", "ben"))
    assert ben.post(edit("thing"), {"a-name-1033": "Ben was here", "read": "{}"}).status_code == 403
    assert save(anna, "thing", **{"a-name-1033": "Anna was here"}).status_code == 302
    with tenant_scope(workshop):
        version = ElementVersion.objects.get(id=ID["thing-1"])
    assert (version.attributes["name"]["1033"], str(version.changed_by_id)) == ("Anna was here", ID["anna"])


def test_a_form_without_its_token_is_refused(office: Office) -> None:
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.cookies = office.client.cookies
    refused = strict.post(f"{office.base}{edit('thing')}", {"a-name-1033": "x"})
    assert refused.status_code == 403
    page = refused.content.decode()
    assert "<h1>The form was not accepted</h1>" in page
    assert f'href="{office.base}"' in page
    assert "CSRF" not in page


def test_a_new_element_is_created_below_its_parent(office: Office, wire: Api, workshop: Storage) -> None:
    path = f"elements/element/add/?parent={ID['box']}"
    chosen = main_text(office.get(path))
    assert "Below Box" in chosen
    assert "Thing" in chosen
    assert "Part" not in chosen.replace("Parts", "")
    form = office.form(f"{path}&type=thing")
    assert form["parent"] == ID["box"]
    response = office.post(f"{path}&type=thing", {**form, "a-name-1033": "Brand new", "a-count": "3"})
    assert response.status_code == 302
    made = response["Location"].split("/")[-3]
    element = wire.element(made)
    assert element["attributes"]["name"] == {"1033": "Brand new"}
    assert element["attributes"]["count"] == {"127": 3}
    assert element["attributes"]["version"] == {"127": "0.1"}
    assert element["state"] == "inProcess"
    assert [each["id"] for each in element["rootPath"]] == [ID["box"]]
    with tenant_scope(workshop):
        assert ElementChange.objects.get(version_id=made).action == ElementChange.Action.CREATED


def test_a_refused_new_element_keeps_the_input(office: Office, workshop: Storage) -> None:
    before = kept(workshop)
    form = office.form("elements/element/add/?type=thing")
    response = office.post("elements/element/add/?type=thing", {**form, "a-name-1033": "New", "a-count": "many"})
    assert response.status_code == 422
    assert form_data(response)["a-name-1033"] == "New"
    assert kept(workshop) == before


def test_roles_decide_which_types_can_be_created(workshop: Storage, office: Office) -> None:
    editor = Office(workshop, Role.EDITOR)
    assert "Box" in main_text(office.get("elements/element/add/"))
    assert "Box" not in main_text(editor.get("elements/element/add/"))
    assert editor.get("elements/element/add/?type=box").status_code == 404
    assert editor.post("elements/element/add/?type=box", {"a-name-1033": "x"}).status_code == 404


def revision(storage: Storage, name: str) -> str:
    with tenant_scope(storage):
        return str(Element.objects.values_list("newest__revision", flat=True).get(id=ID[name]))


def test_obstacles_to_deleting_are_listed_by_name(office: Office, workshop: Storage) -> None:
    text = main_text(office.get(f"elements/element/{ID['part']}/delete/"))
    assert "This element cannot be deleted: other elements refer to it: parts of Other" in text
    response = office.post(f"elements/element/{ID['part']}/delete/", {"revision": revision(workshop, "part")})
    assert response.status_code == 409
    with tenant_scope(workshop):
        assert Element.objects.filter(id=ID["part"]).exists()


def test_an_element_without_obstacles_is_deleted_after_confirmation(office: Office, workshop: Storage) -> None:
    path = f"elements/element/{ID['part-2']}/delete/"
    assert "The element is deleted permanently" in main_text(office.get(path))
    assert office.post(path, {"revision": "9"}).status_code == 412
    response = office.post(path, {"revision": revision(workshop, "part-2"), "list": "?facet=parts&p=2"})
    assert (response.status_code, response["Location"]) == (
        302,
        "/acme/workshop/admin/elements/element/?facet=parts&p=2",
    )
    assert office.get(path).status_code == 404
    rival = Storage.objects.get(collection__key="rival", key="workshop")
    with tenant_scope(rival):
        assert Element.objects.filter(id=ID["part-2"]).exists()


def test_changes_stay_in_their_tenant(office: Office, workshop: Storage) -> None:
    rival = Storage.objects.get(collection__key="rival", key="workshop")
    before = kept(rival)
    assert (
        save(office, "thing", **{"a-name-1033": "Here", "r-parts": ID["part"], "parent": ID["shelf"]}).status_code
        == 302
    )
    assert kept(rival) == before
    stranger = Office(rival, Role.ADMINISTRATOR)
    assert stranger.post(f"/acme/workshop/admin/{edit('thing')}", {"a-name-1033": "x"}).status_code == 404
