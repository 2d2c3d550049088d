"""Private content (D396 to D400): every way that a viewer or an anonymous reader has to learn a hidden value.

Administrators and the person see sign-ins and rights of a user; administrators see tokens. A facet can be hidden from
readers. What is hidden looks as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from facets.models import Facet
from repository_site.api_document.document import openapi_document
from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements import private_desk as desk
from tests.elements.feed import Feed
from tests.elements.office import Office
from tests.elements.private_desk import (
    API,
    CHANGED,
    FACETS,
    ID,
    PRIVATE,
    PROCESSES,
    READER_SECRETS,
    RISKS,
    SECRETS,
    TAGS,
    TOKENS,
    USERS,
)
from tests.factories import issued_token, storage_context, token_for
from tests.scale import first_quick

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]
EVE, VERA = f"{USERS}/{ID['eve']}", f"{USERS}/{ID['vera']}"
TOKEN, RISK = f"{TOKENS}/{ID['token']}", f"{RISKS}/{ID['risk']}"
READERS = [None, Role.VIEWER]
# The permission matrix has every role.
COLLEAGUES = [Role.ANALYZER, Role.ARCHITECT]
OTHERS = [*READERS, Role.ARCHITECT]


@pytest.fixture(scope="module")
def public(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("private")
    fields = {"template": desk.write_template(folder / "template.json"), "anonymous": "read"}
    with filled_storage(desk.write_lines(folder / "lines"), collection="acme", key="open", **fields) as storage:
        yield storage


@pytest.fixture
def ask(api: ApiClient, public: Storage) -> Any:
    """Return a function that sends a GET with a token of a role; None is anonymous."""
    tokens: dict[Role | None, str | None] = {None: None}

    def get(role: Role | None, address: str, **query: str) -> Any:
        if role not in tokens:
            tokens[role] = token_for(public, role)  # type: ignore[arg-type]  # None is there
        given = {f"${name}": value for name, value in query.items()}
        return api.get(address, given, token=tokens[role])

    return get


def assert_nothing_in(response: Any, role: Role | None, where: Any) -> None:
    text = response.content.decode() + str(dict(response.headers))
    for secret in READER_SECRETS if role in READERS else SECRETS:
        if secret in response.wsgi_request.get_full_path():
            continue  # the client's own words
        if role in COLLEAGUES and secret in (ID["token"], "Nightly import"):
            continue  # colleagues see who has changed an element (D206); see below for the element itself
        assert secret not in text, (role, where, secret)


# Viewers see what anonymous callers see.
@pytest.mark.parametrize("role", first_quick([Role.ARCHITECT, Role.VIEWER, None]))
def test_no_operation_shows_a_hidden_value(ask: Any, role: Role | None) -> None:
    """Every GET of the document, for every element, with everything expanded."""
    served, asked = 0, set[str]()
    for name, facet, type in (
        ("eve", "users", "user"), ("token", "automation", "authToken"), ("risk", "risks", "risk"),
        ("process", "processes", "subProcess"), ("tag", "tags", "tag"),
    ):  # fmt: skip
        if role in COLLEAGUES and name == "risk":
            continue
        parts = {
            "collectionId": "acme", "storageId": "open", "facetId": facet, "viewId": "detail", "elementId": ID[name],
            "type": type, "attributeName": "userLastLogin", "relatedId": "changedBy", "cultureId": "1033",
        }  # fmt: skip
        for path, operations in openapi_document()["paths"].items():
            address = path
            for part, value in parts.items():
                address = address.replace(f"{{{part}}}", value)
            if "get" not in operations or "{" in address or address in asked:
                continue
            asked.add(address)
            for query in ({}, {"expandRelated": "owner"}, {"expandRelated": "changedBy"}, {"format": "csv"}):
                names = {each.get("name") for each in operations["get"].get("parameters", ())}
                if not {f"${each}" for each in query} <= names:
                    continue
                response = ask(role, address, **query)
                served += response.status_code == 200
                assert_nothing_in(response, role, (address, query))
    assert served > 30


@pytest.mark.parametrize("role", OTHERS)
@pytest.mark.parametrize("name", first_quick(["roleArchitect", "userLastLogin", "userLoginCount"]))
def test_hidden_names_look_unknown(ask: Any, role: Role | None, name: str) -> None:
    """Filters, selection, expansion, addresses and hints answer as for a name that nobody has configured."""
    unknown = "x" * len(name)

    def told(response: Any) -> tuple[int, str]:
        text = response.content.decode()
        for each in (name, unknown):
            text = text.replace(each, "NAME")
        return response.status_code, text

    for view in ("detail", "list"):
        elements = f"{FACETS}/users/views/{view}/elements"
        for query in ("select", "expandRelated"):
            assert told(ask(role, elements, **{query: name})) == told(ask(role, elements, **{query: unknown}))
        for condition in ("IsNull({})", "{} -eq true", "{} -gt 1", "{}[127] -eq true", "NOT {} -eq null"):
            answers = [told(ask(role, elements, filter=condition.format(each))) for each in (name, unknown)]
            assert answers[0] == answers[1], condition
            assert answers[0][0] == 400
    assert told(ask(role, f"{EVE}/attributes/{name}")) == told(ask(role, f"{EVE}/attributes/{unknown}"))
    misspelt = ask(role, EVE, select=f"{name[:-1]}Q")
    assert misspelt.status_code == 400
    assert name not in misspelt.content.decode()


@pytest.mark.parametrize("role", OTHERS)
def test_filters_on_any_attribute_reveal_nothing(ask: Any, role: Role | None) -> None:
    def count(condition: str) -> int:
        response = ask(role, f"{FACETS}/users/views/detail/elements", filter=condition, page="1")
        assert response.status_code == 200, response.content
        assert int(response["X-Total-Count"]) == response.json()["count"]
        return int(response.json()["count"])

    # What is left has no numbers.
    users = f"{FACETS}/users/views/detail/elements"
    assert ask(role, users, filter="attributes -eq 987654").status_code == 400
    assert ask(Role.ADMINISTRATOR, users, filter="attributes -eq 987654").json()["count"] == 1
    assert count("attributes -eq 2031-05-06T07:08:09") == 0
    assert count("Contains(attributes, '2031')") == count("Contains(attributes, '98765')") == 0
    assert count("name -eq 'Eve'") == 1
    if role in READERS:
        for condition in (f"changedOn -eq {CHANGED}", "IsNull(changedOn)", f"changedBy -eq {ID['token']}"):
            assert ask(role, users, filter=condition).status_code == 400, condition


@pytest.mark.parametrize("role", OTHERS)
def test_types_and_schemas_have_no_hidden_property(ask: Any, role: Role | None) -> None:
    for address in (
        f"{FACETS}/users/views/detail/config", f"{FACETS}/users/views/list/config/user", f"{API}/schema/types",
        f"{API}/schema/types/user",
    ):  # fmt: skip
        response = ask(role, address)
        assert response.status_code == 200, address
        assert not [name for name in PRIVATE if f'"{name}"' in response.content.decode()], address
        assert '"roleArchitect"' in ask(Role.ADMINISTRATOR, address).content.decode()


def attributes_of(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return list(response.json()["elements"][0]["attributes"])


def test_what_is_left_of_a_user(ask: Any) -> None:
    """Names stay, so that owners and authors can be shown."""
    for role in READERS:
        response = ask(role, EVE)
        base = f"http://testserver{API.removesuffix('/_api')}"
        pages = {lcid: f"{base}/{lcid}/users/{ID['eve']}" for lcid in ("1031", "1033")}
        assert response.json() == {
            "count": 1,
            "elements": [
                {
                    "facetName": "users",
                    "id": ID["eve"],
                    "creationId": ID["eve"],
                    "type": "user",
                    "displayNames": {"1031": "Benutzer", "1033": "User"},
                    "attributes": {
                        "createdOn": {"127": "2028-01-02T03:04:05"},
                        "gotoUrl": pages,
                        "name": {"1033": "Eve"},
                    },
                }
            ],
        }
    for role in COLLEAGUES:
        assert attributes_of(ask(role, EVE)) == ["changedOn", "createdOn", "gotoUrl", "name"]
    shown = attributes_of(ask(Role.ADMINISTRATOR, EVE))
    assert shown == [
        "changedOn", "createdOn", "gotoUrl", "name", "roleArchitect", "roleInactive", "userFirstLogin", "userLastLogin",
        "userLoginCount",
    ]  # fmt: skip


def test_people_see_everything_about_themselves(api: ApiClient, public: Storage) -> None:
    own = token_for(public, Role.VIEWER, user_id=ID["vera"])
    assert attributes_of(api.get(VERA, token=own)) == [
        "changedOn", "createdOn", "gotoUrl", "name", "roleViewer", "userLoginCount",
    ]  # fmt: skip
    one = api.get(f"{VERA}/attributes/userLoginCount", token=own)
    assert one.json() == {"count": 1, "values": {"userLoginCount": {"127": 3}}}
    selected = api.get(VERA, {"$select": "userLoginCount", "$filter": "userLoginCount -eq 3"}, token=own)
    assert attributes_of(selected) == ["userLoginCount"]
    # Others stay hidden, even where they are shown with the caller's own element.
    for address in (VERA, f"{VERA}/related", f"{VERA}/related/deputies", f"{VERA}/versions", EVE, USERS):
        response = api.get(address, {"$expandRelated": "deputies"}, token=own)
        assert_nothing_in(response, Role.VIEWER, address)
    assert attributes_of(api.get(EVE, token=own)) == ["createdOn", "gotoUrl", "name"]
    assert api.get(USERS, {"$filter": "userLoginCount -eq 3"}, token=own).status_code == 400
    # Entity tags of the two forms differ, so that a cache does not mix them.
    assert api.get(VERA, token=own)["ETag"] != api.get(VERA, token=token_for(public, Role.VIEWER))["ETag"]


@pytest.mark.parametrize("role", OTHERS)
def test_tokens_are_for_administrators(ask: Any, role: Role | None) -> None:
    is_reader = role in READERS
    assert ("automation" in ask(role, FACETS).content.decode()) is not is_reader
    listed = ask(role, TOKENS)
    assert listed.status_code == (404 if is_reader else 200)
    assert is_reader or listed.json() == {"count": 0, "elements": []}
    for address in (
        TOKEN, f"{TOKEN}/info", f"{TOKEN}/attributes", f"{TOKEN}/versions", f"{TOKEN}/history",
        f"{API}/release/{ID['token']}/transitions", f"{API}/rest/diagram/{ID['token']}/render",
        f"{API}/v1/bpmn/{ID['token']}", f"{API}/v1/subscriptions/{ID['token']}",
    ):  # fmt: skip
        response = ask(role, address)
        unknown = ask(role, address.replace(ID["token"], ID["risk-1"].replace("a000", "b000")))
        assert response.status_code == unknown.status_code, address
        assert response.status_code in (401, 403, 404), address
    for address in (f"{TAGS}/{ID['tag']}", EVE):
        found = ask(role, address).json()["elements"][0].get("related", {})
        context = "createdBy" if address != EVE else "changedBy"
        assert [each["type"] for each in found.get(context, ())] == ([] if is_reader else ["authToken"])
    expanded = ask(role, f"{TAGS}/{ID['tag']}/related/createdBy", expandRelated="createdBy")
    assert "Nightly" not in expanded.content.decode()


def test_administrators_and_the_token_itself_see_a_token(api: ApiClient, ask: Any, public: Storage) -> None:
    assert "name" in attributes_of(ask(Role.ADMINISTRATOR, TOKEN))
    mine, other = (issue_token(storage_context(public), name, [Role.EDITOR]) for name in ("Mine", "Other"))
    own = api.get(f"{TOKENS}/{mine.token.id}", token=mine.value)
    assert own.json()["elements"][0]["attributes"]["roleEditor"] == {"127": True}
    assert api.get(f"{TOKENS}/{mine.token.id}", token=other.value).status_code == 404


@pytest.mark.parametrize("role", READERS)
def test_a_facet_that_is_not_for_readers(ask: Any, role: Role | None) -> None:
    for address in (
        f"{FACETS}/risks/views", f"{FACETS}/risks/views/detail/config", RISKS, RISK, f"{RISKS}/{ID['risk-1']}",
        f"{RISK}/attributes", f"{RISK}/related", f"{RISK}/children", f"{RISK}/content", f"{RISK}/info",
        f"{RISK}/versions", f"{API}/schema/types/risk", f"{API}/release/{ID['risk']}/transitions",
        f"{API}/rest/diagram/{ID['risk']}/render", f"{API}/v1/bpmn/{ID['risk']}", f"{PROCESSES}/{ID['risk']}",
    ):  # fmt: skip
        assert ask(role, address).status_code == 404, address
    process = f"{PROCESSES}/{ID['process']}"
    assert "risks" not in ask(role, process).json()["elements"][0]["related"]
    for query in ({"select": "risks"}, {"expandRelated": "risks"}, {"filter": f"risks -eq {ID['risk']}"}):
        assert ask(role, process, **query).status_code == 400, query
    assert ask(role, f"{process}/related/risks").status_code == 404
    assert '"risks"' not in ask(role, f"{FACETS}/processes/views/detail/config").content.decode()
    assert ask(role, f"{API}/rest/changes", facet="risks").status_code == 400
    assert ask(role, RISKS.replace("risks", "riscs")).json()["message"] == "There is no facet riscs."


def test_colleagues_see_a_facet_that_is_not_for_readers(ask: Any) -> None:
    for role in (*COLLEAGUES, Role.ADMINISTRATOR):
        assert attributes_of(ask(role, RISK))
        found = ask(role, f"{PROCESSES}/{ID['process']}").json()["elements"][0]
        assert [each["id"] for each in found["related"]["risks"]] == [ID["risk"]]


def test_the_mark_counts_at_once(ask: Any, public: Storage) -> None:
    """Identities of targets are cached while the content does not change; the configuration counts as well."""

    def owners() -> Any:
        return ask(None, f"{PROCESSES}/{ID['process']}").json()["elements"][0].get("related", {}).get("owner", [])

    assert len(owners()) == 1
    with tenant_scope(public):
        Facet.objects.filter(name="users").update(for_readers=False)
    assert owners() == []
    assert ask(None, USERS).status_code == 404


def change(api: ApiClient, token: str, **attributes: Any) -> Any:
    document = {"id": ID["eve"], "attributes": {name: {"127": value} for name, value in attributes.items()}}
    return api.post(f"{USERS}/", {"elements": [document]}, "application/json", token=token)


@pytest.mark.parametrize("role", READERS)
def test_readers_do_not_notice_a_sign_in(api: ApiClient, ask: Any, public: Storage, role: Role | None) -> None:
    """Neither by the entity tag, which has no revision, nor in the feed, nor in the response."""
    token = None if role is None else token_for(public, role)
    feed, administrator = Feed(api, "acme/open", token), token_for(public, Role.ADMINISTRATOR)
    feed.read()
    before = ask(role, EVE)
    assert ID["eve"] not in before["ETag"]
    assert change(api, administrator, userLoginCount=987655).status_code == 200
    assert ask(role, EVE).json() == before.json()
    assert feed.read() == []


@pytest.mark.parametrize("role", COLLEAGUES)
def test_colleagues_get_no_values_of_changes(api: ApiClient, public: Storage, role: Role) -> None:
    feed = Feed(api, "acme/open", token_for(public, role))
    administrator = token_for(public, Role.ADMINISTRATOR)
    feed.read()
    change(api, administrator, userLoginCount=987655)
    assert feed.read() == []
    change(api, administrator, userLoginCount=987656, firstName="Eve")
    [event] = feed.read()
    assert event["type"] == "element.changed"
    assert event["data"]["attributes"] == ["firstName"]
    history = api.get(f"{EVE}/history", token=token_for(public, role))
    assert history.status_code == 403
    assert (
        history.json()["message"] == "Only the user and the role Administrator can read the change history of a user."
    )
    assert api.get(f"{EVE}/history", token=administrator).json()["count"] == 2


def test_the_person_reads_their_own_history(api: ApiClient, public: Storage) -> None:
    change(api, token_for(public, Role.ADMINISTRATOR), userLoginCount=987655)
    own = api.get(f"{EVE}/history", token=token_for(public, Role.ARCHITECT, user_id=ID["eve"]))
    assert own.json()["values"][0]["after"] == {"attributes": {"userLoginCount[127]": 987655}}


def test_colleagues_get_no_events_of_tokens(api: ApiClient, public: Storage) -> None:
    feeds = {role: Feed(api, "acme/open", token_for(public, role)) for role in (Role.EDITOR, Role.ADMINISTRATOR)}
    for feed in feeds.values():
        feed.read()
    issued_token(public, Role.VIEWER)
    assert [each["type"] for each in feeds[Role.ADMINISTRATOR].read()] == ["token.created"]
    assert feeds[Role.EDITOR].read() == []


def test_writing_does_not_reveal_stored_values(api: ApiClient, public: Storage) -> None:
    """The stored value and another one are refused alike. Viewers cannot write at all."""
    architect = token_for(public, Role.ARCHITECT)
    for name, values in {"roleArchitect": (True, False), "userLoginCount": (987654, 1)}.items():
        same, other = (change(api, architect, **{name: value}) for value in values)
        assert same.status_code == other.status_code == 403
        assert same.json() == other.json()
        text = f"only administrators can change {name}; this needs the role administrator."
        assert same.json()["data"] == [{"error": f"elements[0] {ID['eve']}: {text}"}]
    viewer = token_for(public, Role.VIEWER)
    answers = [change(api, viewer, roleArchitect=value).json() for value in (True, False)]
    assert answers[0] == answers[1]
    # Other attributes of a person can be changed as before, and the response has nothing else.
    response = change(api, architect, firstName="Eve")
    assert attributes_of(response) == ["changedOn", "createdOn", "firstName", "gotoUrl", "name"]


def test_people_can_send_their_own_values_back(api: ApiClient, public: Storage) -> None:
    own = token_for(public, Role.ARCHITECT, user_id=ID["eve"])
    read = api.get(EVE, token=own).json()
    response = api.post(f"{USERS}/", {"elements": read["elements"]}, "application/json", token=own)
    assert response.status_code == 200, response.content
    assert change(api, own, roleAdministrator=True).status_code == 403


@pytest.mark.parametrize("role", first_quick(OTHERS))
def test_pages_show_nothing_private(public: Storage, role: Role | None) -> None:
    """Reader pages: people, tokens, the hidden facet, search by name, id and cursor."""
    client = Client() if role is None else Office(public, role).client
    root, is_reader = "/acme/open/1033", role in READERS
    for path, status in (
        (f"users/{ID['eve']}", 200), ("users/", 200), ("", 200), (f"processes/{ID['process']}", 200),
        (f"tags/{ID['tag']}", 200), (f"automation/{ID['token']}", 404), (f"users/{ID['token']}", 404),
        ("automation/", 404 if is_reader else 200), ("search?q=Nightly", 200), (f"search?q={ID['token']}", 200),
        ("search?q=987654", 200), (f"users/?after={ID['token']}", 200), ("risks/", 404 if is_reader else 200),
        (f"risks/{ID['risk']}", 404 if is_reader else 200), ("search?q=Bankruptcy", 200), ("search?q=bankr", 200),
        ("search/suggestions?q=Night", 200), ("search/suggestions?q=Bankr", 200),
    ):  # fmt: skip
        response = client.get(f"{root}/{path}")
        assert response.status_code == status, path
        if not (role in COLLEAGUES and ("risk" in path or "bankr" in path.lower())):
            assert_nothing_in(response, role, path)
            # Pages write dates and numbers in another form.
            text = response.content.decode()
            years = ("2029", "2031", *(["2032"] if is_reader else ()))
            assert not [each for each in (*years, "987,654") if each in text], path


def test_the_person_sees_their_own_page(public: Storage) -> None:
    client = Office(public, Role.VIEWER, user_id=ID["vera"]).client
    own = client.get(f"/acme/open/1033/users/{ID['vera']}").content.decode()
    assert "Number of sign-ins" in own
    assert "Number of sign-ins" not in client.get(f"/acme/open/1033/users/{ID['eve']}").content.decode()


def test_the_back_office_shows_private_content_to_administrators(public: Storage) -> None:
    editor, administrator = Office(public, Role.EDITOR), Office(public, Role.ADMINISTRATOR)
    user, users = f"elements/user/{ID['eve']}/change/", "elements/user/"
    private = {users: ["Architect", "Last sign-in"], user: ["Number of sign-ins"]}
    for page, texts in private.items():
        shown, hidden = administrator.page(page).casefold(), editor.page(page).casefold()
        for text in texts:
            assert text.casefold() in shown, (page, text)
            assert text.casefold() not in hidden, (page, text)
    assert "Number of sign-ins" not in editor.element(ID["eve"])
    assert "Number of sign-ins" in administrator.element(ID["eve"])
    assert "History" not in editor.element(ID["eve"])
    assert editor.get(f"elements/element/{ID['token']}/change/").status_code == 404
    assert "Nightly import" in administrator.page("elements/element/?q=Nightly")
    assert "Nightly import" not in editor.page("elements/element/?q=Nightly")
    assert "Nightly import" in administrator.get("search/?s=nightl").content.decode()
    assert "Nightly import" not in editor.get("search/?s=nightl").content.decode()
    # Filters by what is hidden do not exist.
    for filtered in ("role=architect", "role=viewer", "status=inactive", "status=active"):
        assert editor.get(f"{users}?{filtered}").status_code == 400, filtered
    # The creator of the tag is a name without a link.
    assert ID["token"] not in editor.get(f"elements/element/{ID['tag']}/change/").content.decode()
    assert "Nightly import" in editor.element(ID["tag"])


@pytest.mark.parametrize("role", READERS)
def test_readers_find_nothing_hidden(api: ApiClient, public: Storage, role: Role | None) -> None:
    """Neither the element, nor one that refers to it, nor a hint at its words."""
    token = role and token_for(public, role)
    nothing = {"count": 0, "values": [], "facets": {}, "types": {}, "states": {}, "isComplete": True}
    for text in ("nightly", "bankruptcy", "bankr", "bankruptcx", "nightly import", str(desk.COUNT)):
        assert api.get(f"{API}/rest/search?q={text}", token=token).json() == nothing, text
        found = api.get(f"{API}/rest/search/suggestions?q={text}", token=token)
        assert found.json() == {"count": 0, "values": []}, text


def test_colleagues_find_what_they_see(api: ApiClient, public: Storage) -> None:
    token = token_for(public, Role.ARCHITECT)

    def types(text: str) -> dict[str, int]:
        return dict(api.get(f"{API}/rest/search?q={text}", token=token).json()["types"])

    assert types("bankruptcy") == {"risk": 1, "subProcess": 1}
    assert "authToken" not in types("nightly")
    assert types(str(desk.COUNT)) == {}
