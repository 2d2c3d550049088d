"""`rest/search` and `rest/search/suggestions`: what a text finds, for whom, and in which order."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from elements.models import ElementVersion, Lane, SearchPosting
from elements.search import expanding, finding
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import HTML, ID, LINES, wire
from tests.factories import token_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("handbook")]
SEARCH = "/acme/handbook/_api/rest/search"
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
NAMES = {line.get("versionId", line["id"]): line["attributes"]["name"] for line in LINES}


def hit(name: str, excerpt: str = "", attribute: str = "name", culture: int = 1033) -> dict[str, Any]:
    found = {**wire(name), "attributes": {"name": NAMES[ID[name]]}}
    if excerpt:
        found["excerpt"] = {"attribute": attribute, "culture": culture, "text": excerpt}
    return found


def get(api: ApiClient, text: str, token: str | None = None, more: str = "") -> Any:
    response = api.get(f"{SEARCH}?q={quote(text)}{more}", token=token)
    assert response.status_code == 200, response.content
    return response.json()


def found(api: ApiClient, text: str, token: str | None = None, more: str = "") -> list[str]:
    ids = {value: name for name, value in ID.items()}
    return [ids[each.get("versionId", each["id"])] for each in get(api, text, token, more)["values"]]


def test_a_page_of_hits(api: ApiClient) -> None:
    response = api.get(f"{SEARCH}?q=anna&$page=1&$pageSize=2")
    assert response.json() == {
        "count": 2,
        "values": [hit("anna", "<mark>Anna</mark> Berg"), hit("order-2")],
        "facets": {"processes": 2, "users": 1},
        "types": {"processHouse": 1, "subProcess": 1, "user": 1},
        "states": {"released": 1, "show": 1},
        "isComplete": True,
    }
    assert response["X-Total-Count"] == "3"
    assert "$page=2" in response["Link"]
    assert found(api, "anna", more="&$page=2&$pageSize=2") == ["house"]


def test_reading_by_post_and_conditionally(api: ApiClient) -> None:
    response = api.get(f"{SEARCH}?q=order")
    assert api.post(f"{SEARCH}?q=order", "", "application/json").json() == response.json()
    again = api.get(f"{SEARCH}?q=order", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304
    shorter = api.get(f"{SEARCH}/suggestions?q=order")
    assert api.post(f"{SEARCH}/suggestions?q=order", "", "application/json").json() == shorter.json()


def test_viewers_find_published_versions_only(handbook: Storage, api: ApiClient, editor: str) -> None:
    viewer = token_for(handbook, Role.VIEWER)
    excerpt = "From <mark>order</mark> to invoice."
    for token in (None, viewer):
        assert get(api, "order", token)["values"] == [hit("order-2", excerpt, "description")]
        assert found(api, "every order", token) == []
        assert found(api, "invoice", token) == ["order-2"]
    assert get(api, "order", editor)["values"] == [hit("order-3", "Handle every <mark>order</mark>")]
    assert found(api, "invoice", editor) == ["invoice-1"]
    assert found(api, "rival", editor) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ORDER handle", ["order-2"]),
        ("orders handling", ["order-2"]),
        ("Aufträge", ["order-2"]),
        ("auftrag order", ["order-2"]),
        ("pruf", ["check-2", "order-2"]),
        ("prüfen ", ["check-2", "order-2"]),
        ("compa", ["order-2"]),
        ("compa ", []),
        ('"handle order"', ["order-2"]),
        ('"order handle"', []),
        ('"from order" whole', ["order-2"]),
        ("order -invoice", []),
        ("order -rival", ["order-2"]),
        ("from the order", ["order-2"]),
        ("order crew", []),
        ("board", ["order-2"]),
        ("%", []),
        ("12345678901234567890.125 2026", []),
    ],
)
def test_what_a_text_finds(api: ApiClient, text: str, names: list[str]) -> None:
    assert found(api, text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("anna whole", ["order-2"]),
        ("whole anna", ["order-2"]),
        ("whole berg anna", ["order-2"]),
        ('whole "anna berg"', ["order-2"]),
        ("whole anna -invoice", []),
        ("anna whole -invoice", []),
        ("whole ben", []),
        ("ben whole", []),
        ("anna board whole", ["order-2"]),
        ("board whole anna", ["order-2"]),
    ],
)
def test_words_in_a_text_and_in_names_around_it(api: ApiClient, text: str, names: list[str]) -> None:
    """The rarest word leads to the hits: that of the name, or that of the text."""
    assert found(api, text) == names


def test_names_come_before_texts_and_whole_names_first(api: ApiClient, architect: str) -> None:
    assert found(api, "check", architect) == ["check-2", "check-3", "order-3"]
    assert found(api, "check again", architect) == ["check-3", "check-2", "order-3"]
    assert found(api, "erp", architect) == ["erp-2", "check-2", "order-3"]


def test_the_culture_determines_the_language(api: ApiClient) -> None:
    german = hit("order-2", "<mark>Auftrag</mark> abwickeln", culture=1031)
    assert get(api, "Aufträge", more="&culture=1031")["values"] == [german]
    assert found(api, "Mannschaften ") == found(api, "Mannschaften ", more="&culture=1031") == ["crew", "anna"]
    assert found(api, "Mannschaften ", more="&culture=1033") == []


def test_filters_leave_counts_as_they_are(api: ApiClient) -> None:
    counts = {"processes": 2, "users": 1}
    for more, names in {
        "&facet=PROCESSES": ["order-2", "house"],
        "&type=user,processHouse": ["anna", "house"],
        "&state=released": ["order-2"],
        "&state=show": ["house"],
        "&facet=users&state=released": [],
    }.items():
        answer = get(api, "anna", more=more)
        assert [each.get("versionId", each["id"]) for each in answer["values"]] == [ID[name] for name in names]
        assert answer["facets"] == counts


def test_a_similar_text_is_suggested_if_it_finds_something(api: ApiClient, editor: str) -> None:
    nothing = {"count": 0, "values": [], "facets": {}, "types": {}, "states": {}, "isComplete": True}
    assert get(api, "handel ordre") == {**nothing, "suggestion": "handle order"}
    # What was excluded stays so: the only process with these words has an invoice.
    assert get(api, "handel -rival ordre") == {**nothing, "suggestion": "handle order -rival"}
    assert get(api, 'handel ordre -"an invoice"')["suggestion"] == 'handle order -"an invoice"'
    assert get(api, "handel ordre -invoice") == nothing
    assert get(api, "zeppelin") == nothing
    # The word is in a draft only.
    assert get(api, "everry") == nothing
    assert get(api, "everry", editor)["suggestion"] == "every"


def test_words_of_drafts_are_as_unknown_as_others(api: ApiClient, architect: str) -> None:
    """Otherwise a missing suggestion would tell that somebody has written the word."""
    draft = [{"id": ID["order"], "attributes": {"name": {"1033": "Abwickela ordxr"}}}]
    assert api.post(PROCESSES, {"elements": draft}, "application/json", token=architect).status_code == 200
    assert found(api, "ordxr", architect) == ["order-3"]
    assert get(api, "ordxr")["suggestion"] == "order"
    # The word of the draft is as similar, and comes first.
    assert get(api, "abwickelx")["suggestion"] == "abwickeln"


def test_scripts_without_blanks(api: ApiClient, architect: str) -> None:
    """Any part of a run of two or more characters is found, and a whole name comes first."""
    names = ["製造工程管理", "製造工程", "本製造"]
    place = [{"id": ID["sales"]}]
    given = [{"type": "subProcess", "rootPath": place, "attributes": {"name": {"1033": name}}} for name in names]
    assert api.post(PROCESSES, {"elements": given}, "application/json", token=architect).status_code == 200

    def texts(text: str, path: str = "") -> list[str]:
        answer = api.get(f"{SEARCH}{path}?q={quote(text)}", token=architect).json()
        return [each["attributes"]["name"]["1033"] for each in answer["values"]]

    for text, expected in {
        "製造工程": [names[1], names[0]],
        "工程": [names[1], names[0]],
        "理": [names[0]],
        "製造": [names[1], names[0], names[2]],
        "製造 管理": [names[0]],
        "製造 -管理": [names[1], names[2]],
        "造製": [],
    }.items():
        assert texts(text) == expected, text
    assert texts("製造工", "/suggestions") == [names[1], names[0]]
    assert texts("工程", "/suggestions") == [names[1], names[0]]
    assert get(api, "程管", architect)["values"][0]["excerpt"]["text"] == "製造工<mark>程管</mark>理"


def test_a_lane_shows_an_element(handbook: Storage, api: ApiClient) -> None:
    with tenant_scope(handbook):
        Lane.objects.create(version_id=ID["order-2"], element_id=ID["crew"], position=0, name={}, is_pool=False)
    assert found(api, "crew") == ["crew", "anna", "order-2"]


def test_old_versions_do_not_hide_names(handbook: Storage, api: ApiClient) -> None:
    with tenant_scope(handbook):
        kept = SearchPosting.objects.filter(word="order", in_name=True)
        versions = [version for each in kept for version in each.versions]
        kept.delete()
        for some in ([uuid4() for _ in range(300)], versions):
            SearchPosting.objects.create(word="order", in_name=True, size=len(some), versions=some)
    assert api.get(f"{SEARCH}/suggestions?q=ord").json()["values"] == [hit("order-2")]


def test_people_are_found_by_what_readers_see_of_them(handbook: Storage, api: ApiClient) -> None:
    with tenant_scope(handbook):
        attributes = ElementVersion.objects.get(element_id=ID["ben"]).attributes | {"firstName": {"127": "Benjamin"}}
        ElementVersion.objects.filter(element_id=ID["ben"]).update(attributes=attributes)
    assert found(api, "benjamin") == ["ben"]


def test_signs_without_a_meaning(api: ApiClient) -> None:
    for text in ("\0", "…", "\ufe0f", "' OR 1=1", "\\", "😀", "_____", "%order%zzz"):
        assert get(api, text)["values"] == [], text
    for text in ("\0order", "ord\0", "😀 order"):
        assert api.get(f"{SEARCH}/suggestions?q={quote(text)}").json()["values"] == [hit("order-2")], text


def test_references_to_characters_are_letters(api: ApiClient, architect: str) -> None:
    """Editors of markup write letters in this form. `$filter` compares the value itself."""
    text = f"{HTML}<p>Endpr&#252;fung der Stra&#xDF;e</p>"
    given = [{"id": ID["order"], "attributes": {"description": {"1033": text}}}]
    assert api.post(PROCESSES, {"elements": given}, "application/json", token=architect).status_code == 200
    marked = "<mark>Endprüfung</mark> der <mark>Straße</mark>"
    assert get(api, "endprufung strasse", architect)["values"] == [
        {**hit("order-3"), "excerpt": {"attribute": "description", "culture": 1033, "text": marked}}
    ]
    assert found(api, "fung", architect) == []
    for part, is_found in {"ndpr&#252;fung": True, ";fung der": True, "#252;fun": True, "prüfung": False}.items():
        query = quote(f"Contains(description, '{part}')")
        listed = api.get(f"{PROCESSES}?$filter={query}", token=architect).json()["elements"]
        assert [each["id"] for each in listed] == [ID["order"]] * is_found, part


def test_a_word_that_was_posted_twice_does_not_hide_others(
    handbook: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that may lack elements says so."""
    with tenant_scope(handbook):
        for each in SearchPosting.objects.filter(word="order"):
            SearchPosting.objects.create(word="order", in_name=each.in_name, size=each.size, versions=each.versions)
    assert get(api, "order ")["isComplete"] is True
    monkeypatch.setattr(finding, "MOST_CANDIDATES", 2)
    assert get(api, "order ")["isComplete"] is False


@pytest.mark.parametrize("limit", ["MOST_REFERENCES", "MOST_LINKED"])
def test_a_name_with_too_many_references(api: ApiClient, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    assert get(api, "anna")["isComplete"] is True
    monkeypatch.setattr(finding, limit, 1)
    answer = get(api, "anna")
    assert (answer["isComplete"], answer["types"]["user"]) == (False, 1)


def test_a_phrase_whose_last_word_has_many_endings(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its other words find everything."""
    monkeypatch.setattr(expanding, "MOST_BEGINNINGS", 1)
    answer = get(api, "handle-ord")
    assert ([each["versionId"] for each in answer["values"]], answer["isComplete"]) == ([ID["order-2"]], True)
    assert get(api, "ord")["isComplete"] is False


def test_suggestions(api: ApiClient, editor: str) -> None:
    assert api.get(f"{SEARCH}/suggestions?q=or").json() == {"count": 1, "values": [hit("order-2")]}
    names = [
        each["attributes"]["name"]["1033"]
        for each in api.get(f"{SEARCH}/suggestions?q=c", token=editor).json()["values"]
    ]
    assert names == ["Check", "Check again", "Crew", "CRM", "customer view", "Ben Cole"]
    assert api.get(f"{SEARCH}/suggestions?q=again+che", token=editor).json()["values"] == [hit("check-3")]
    assert api.get(f"{SEARCH}/suggestions?q=again+che").json() == {"count": 0, "values": []}
    for text in ("che -again", '-"check again" che'):
        path = f"{SEARCH}/suggestions?q={quote(text)}"
        assert [each["id"] for each in api.get(path, token=editor).json()["values"]] == [ID["check-2"]], text


def test_all_problems_are_reported(api: ApiClient) -> None:
    response = api.get(f"{SEARCH}?culture=5&facet=proceses&state=x&$page=0")
    assert response.status_code == 400
    assert [each["error"] for each in response.json()["data"]] == [
        "q: expected the words to search for, such as q=order.",
        "culture: '5' is not a data culture of this storage; use 1031 or 1033.",
        "facet: 'proceses' is not a facet; similar: processes.",
        "state: 'x' is not a state.",
        "$page: expected a whole number from 1 to 1000000000, not '0'.",
    ]
    response = api.get(f"{SEARCH}/suggestions?q=-x")
    assert response.status_code == 400
    assert response.json()["message"] == "q: expected at least one word to find, besides the excluded ones."


def test_old_versions_do_not_take_the_places_of_others(
    handbook: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of tested versions counts those that the caller sees."""
    with tenant_scope(handbook):
        kept = SearchPosting.objects.filter(word="order")
        again = [(each.in_name, each.versions) for each in kept]
        kept.delete()
        for in_name, versions in [(True, [uuid4() for _ in range(30)]), *again]:
            SearchPosting.objects.create(word="order", in_name=in_name, size=len(versions), versions=versions)
    monkeypatch.setattr(finding, "MOST_CANDIDATES", 10)
    answer = get(api, "order ")
    assert (answer["facets"], answer["isComplete"]) == ({"processes": 1}, True)
    # Which versions are read first is not defined.
    monkeypatch.setattr(finding, "MOST_READ", 20)
    assert get(api, "order ")["isComplete"] is False
