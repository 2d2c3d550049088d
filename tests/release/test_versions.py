"""createversion, operation 19 (D18, D11): an editable copy; the earlier version stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from elements.models import Element, ElementVersion, Reference, Shape
from elements.reading.rows import read_versions
from release.lifecycle.versions import create_version
from repository_site.core.problems import NotFound
from storage.models import Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import StaffAccountFactory, token_for
from tests.release.house import API, BASE, DETAIL, ID, NO_END, STATES, HouseClient, MakeClient, Wire, error, one, user
from tests.release.transition_calls import writer_of
from tests.scale import first_quick
from tests.tags import is_version_tag, version_tag

pytestmark = pytest.mark.django_db
FACETS = f"{BASE}/rest/facets"


def link(facet: str, type: str, name: str, version: str | None = None, state: str | None = None) -> Wire:
    identity = {"versionId": ID[version], "type": type, "state": state} if version else {}
    own: Wire = {"facetName": facet, "id": ID[name], **(identity or {"creationId": ID[name], "type": type})}
    return {**own, "expandUri": f"{FACETS}/{facet}/views/detail/elements/{ID[version or name]}"}


def person(name: str) -> Wire:
    return link("users", "user", name)


def copied(element: str, name: str, type: str) -> Wire:
    return {
        "facetName": "processes",
        "id": element,
        "creationId": ID[name],
        "type": type,
        "expandUri": f"{FACETS}/processes/views/detail/elements/{element}",
    }


def test_the_whole_response(desk: MakeClient, house: Storage) -> None:
    new = desk(user="anna").new_version("order")
    version, now = new["versionId"], new["attributes"]["createdOn"]["127"]
    shown = [each["id"] for each in new["content"]]
    assert not {version, *shown} & {*ID.values()}
    pages = f"http://testserver{API.removesuffix('/_api')}"
    note = "Only the author, further authors and architects may change this element."
    german = "Nur der Autor, weitere Autoren und Architekten dürfen dieses Element ändern."
    assert new == {
        "facetName": "processes",
        "id": ID["order"],
        "versionId": version,
        "type": "subProcess",
        "state": "inProcess",
        "displayNames": {"1031": "Teilprozess", "1033": "Sub process"},
        "attributes": {
            "authorNote": {"1031": german, "1033": note},
            "changedOn": {"127": now},
            "createdOn": {"127": now},
            "gotoUrl": {lcid: f"{pages}/{lcid}/processes/{version}" for lcid in ("1031", "1033")},
            "isReleased": {"127": False},
            "name": {"1031": "order-2 deutsch", "1033": "order-2"},
            "purp": {"1033": "Purpose"},
            "state1": {"127": "inProcess"},
            "validUntil": {"127": NO_END},
            "version": {"127": "2.1"},
        },
        "related": {
            "author": [person("anna")],
            "changedBy": [person("anna")],
            "createdBy": [person("anna")],
            "owner": [person("ben")],
            "releaseHistory": [
                link("processes", "subProcess", "order", "order-1", "expired"),
                link("processes", "subProcess", "order", "order-2", "released"),
            ],
            "systems": [link("it", "system", "erp", "erp-1", "released")],
        },
        "content": [
            copied(shown[0], "order-2-start", "evStart"),
            copied(shown[1], "order-2-task", "task"),
            copied(shown[2], "order-2-end", "evEnd"),
        ],
        "rootPath": [link("processes", "mainProcess", "house", "house-1", "released")],
    }


def test_the_diagram_is_copied(desk: MakeClient) -> None:
    anna = desk(user="anna")
    version = anna.new_version("order")["versionId"]
    content = anna.get(f"rest/facets/processes/views/diagram/elements/{version}/content").json()["elements"]
    shapes = [each["properties"]["shapeId"] for each in content]
    assert len({*shapes} - {*ID.values()}) == 3
    before = [[one["properties"]["shapeId"] for one in each["properties"]["predecessors"]] for each in content]
    assert before == [[], [shapes[0]], [shapes[1]]]
    names = [each["attributes"]["name"]["1033"] for each in content]
    assert names == ["start of order-2", "task of order-2", "end of order-2"]


def test_independent_elements_stay_references_and_an_element_drawn_twice_is_copied_once(
    desk: MakeClient, house: Storage
) -> None:
    with tenant_scope(house):
        Shape.objects.create(version_id=ID["order-2"], element_id=ID["expired"], position=3)
        Shape.objects.create(version_id=ID["order-2"], element_id=ID["order-2-task"], position=4)
        # The process refers to its own task, and the task to its start and to a system.
        for context, source, target in (
            ("requirements", "order-2", "order-2-task"),
            ("risks", "order-2-task", "order-2-start"),
            ("systems", "order-2-task", "erp"),
        ):
            Reference.objects.create(version_id=ID[source], context=context, position=0, target_id=ID[target])
    version = desk(user="anna").new_version("order")["versionId"]
    with tenant_scope(house):
        drawn = list(Shape.objects.filter(version_id=version).order_by("position").values_list("element_id", flat=True))
        start, task, _, other, again = map(str, drawn)
        assert (other, again) == (ID["expired"], task)
        held = Reference.objects.filter(version_id__in=[version, task]).values_list(
            "version_id", "context", "target_id"
        )
        found = {(str(owner), context, str(target)) for owner, context, target in held}
        assert (version, "requirements", task) in found
        assert {(task, "risks", start), (task, "systems", ID["erp"])} <= found
        copies = Element.objects.filter(id__in=[start, task])
        assert {str(each.parent_id) for each in copies} == {ID["order"]}
        assert not copies.exclude(published_id=None).exists()


def everything_about(desk: HouseClient, version: str) -> dict[str, bytes]:
    """Return all responses about a version, as bytes."""
    views = f"{API}/rest/facets/processes/views"
    paths = [f"{view}/elements/{version}" for view in ("detail", "tree", "list", "diagram", "reporting")]
    detail = f"detail/elements/{version}"
    paths += [f"{detail}/{part}" for part in ("attributes", "related", "related/systems", "children", "content")]
    found = {path: desk.api.get(f"{views}/{path}", token=desk.token) for path in paths}
    assert {response.status_code for response in found.values()} <= {200, 404}
    return {path: response.content for path, response in found.items()}


@pytest.mark.parametrize("name", first_quick(["cora", "vera"]))
def test_the_earlier_version_stays_byte_identical(desk: MakeClient, name: str) -> None:
    reader, anna = desk(user=name), desk(user="anna")
    before = everything_about(reader, ID["order-2"])
    tag = version_tag(reader.get(f"rest/facets/processes/views/detail/elements/{ID['order-2']}")["ETag"])
    new = anna.new_version("order")
    task = new["content"][1]["id"]
    edited = [
        {"id": task, "attributes": {"name": {"1033": "Another"}}, "related": {"systems": []}},
        {"versionId": new["versionId"], "attributes": {"name": {"1033": "New"}}, "related": {"systems": []}},
    ]
    assert anna.update(*edited).status_code == 200
    drawn = {
        "values": [{"shapeInfo": {"index": 0}, "element": {"type": "task", "attributes": {"name": {"1033": "x"}}}}]
    }
    path = f"rest/facets/processes/views/diagram/elements/{new['versionId']}/content"
    assert anna.post(path, drawn).status_code == 200
    shape = anna.get(path).json()["elements"][0]["properties"]["shapeId"]
    assert anna.post(f"{path}/{shape}/delete").status_code == 200
    assert everything_about(reader, ID["order-2"]) == before
    assert version_tag(reader.get(f"rest/facets/processes/views/detail/elements/{ID['order-2']}")["ETag"]) == tag


def test_readers_see_the_published_version_until_the_new_one_is_released(desk: MakeClient) -> None:
    vera, anna = desk(user="vera"), desk(user="anna")
    new = anna.new_version("order")
    assert vera.element("order")["versionId"] == ID["order-2"]
    assert anna.element("order")["versionId"] == new["versionId"]
    for hidden in (new["versionId"], new["content"][1]["id"]):
        assert vera.get(f"rest/facets/processes/views/detail/elements/{hidden}").status_code == 404


@pytest.mark.parametrize(
    ("named", "source"),
    [("order", "order-2"), ("order-2", "order-2"), ("order-1", "order-1"), ("expired", "expired-1")],
)
def test_the_source_of_the_copy(desk: MakeClient, named: str, source: str) -> None:
    """The id of an element means the published version, else the newest retired one; the id of a version means that
    version."""
    new = desk(user="anna").new_version(named)
    number = "1.1" if named == "expired" else "2.1"
    assert (new["attributes"]["name"]["1033"], new["attributes"]["version"]["127"]) == (source, number)


def test_letter_case_prefixes_and_api_versions(desk: MakeClient) -> None:
    anna = desk(user="anna")
    response = anna.post(f"rest/release/{ID['order'].upper()}/createversion/", **{"api-version": "3.0"})
    assert (response.status_code, response["api-version"]) == (200, "3.0")
    assert response.json()["values"][0]["id"] == ID["order"]
    assert is_version_tag(response["ETag"], response.json()["values"][0]["versionId"])


@pytest.mark.parametrize("state", STATES[:4])
def test_a_second_open_version_is_a_conflict(desk: MakeClient, state: str) -> None:
    text = (
        f"subProcess {ID[state]} already has an open version: 0.1 ({ID[f'{state}-1']}) in the state {state}."
        " Release or delete it first."
    )
    found = desk(user="anna").post(f"release/{ID[state]}/createversion")
    assert error(found) == (409, "error", "dialog", [text])


def test_only_the_published_and_the_newest_expired_version_can_be_copied(desk: MakeClient, house: Storage) -> None:
    cora = desk(user="cora")
    second = cora.new_version("order")["versionId"]
    cora.applied(second, "InProcessToReleased")
    found = cora.post(f"release/{ID['order-1']}/createversion")
    text = f"subProcess {ID['order-1']} is neither the published nor the newest expired version; copy one of these."
    assert error(found) == (409, "error", "dialog", [text])
    assert cora.new_version("order-2")["attributes"]["version"] == {"127": "3.1"}


def test_elements_without_versions(desk: MakeClient) -> None:
    found = desk(user="cora").post(f"release/{ID['anna']}/createversion")
    assert error(found) == (409, "error", "dialog", ["Elements of type user have no versions."])


def test_missing_permission_is_reported_first(desk: MakeClient, house: Storage) -> None:
    """Before an open version, a wrong source or a type without versions (D83)."""
    desk(user="cora").new_version("order")
    other = desk(Role.EDITOR)
    for named, label in (
        ("order", f"subProcess {ID['order-2']}"),
        ("order-1", f"subProcess {ID['order-1']}"),
        ("inProcess", f"subProcess {ID['inProcess-1']}"),
        ("inReview-1", f"subProcess {ID['inReview-1']}"),
        ("anna", f"user {ID['anna']}"),
    ):
        text = f"A new version of {label} requires the permission EditElement."
        caller = desk(user="vera") if named == "anna" else other
        assert error(caller.post(f"release/{ID[named]}/createversion")) == (403, "unauthorized", "volatile", [text])
    with tenant_scope(house):
        assert ElementVersion.objects.filter(element_id=ID["order"]).count() == 3


@pytest.mark.parametrize(
    ("roles", "name", "status"),
    [
        ((Role.VIEWER,), None, 403),
        ((Role.ANALYZER,), None, 403),
        ((Role.APPROVER,), None, 403),
        ((Role.EDITOR,), None, 403),  # not the author
        ((), "anna", 200),
        ((Role.ARCHITECT,), None, 200),
        ((Role.ADMINISTRATOR,), None, 200),
    ],
)
def test_permissions(desk: MakeClient, roles: tuple[Role, ...], name: str | None, status: int) -> None:
    caller = desk(*roles, user=name)
    found = caller.post(f"release/{ID['order']}/createversion")
    assert found.status_code == status
    if status == 403:
        text = f"A new version of subProcess {ID['order-2']} requires the permission EditElement."
        assert error(found) == (403, "unauthorized", "volatile", [text])
    else:
        versions = caller.get(f"rest/facets/processes/views/detail/elements/{ID['order']}/versions").json()
        assert [each["state"] for each in versions["elements"]] == ["expired", "released", "inProcess"]


def test_a_token_without_user_is_the_author(desk: MakeClient) -> None:
    new = desk(Role.ADMINISTRATOR).new_version("order")
    callers = [new["related"][name][0]["type"] for name in ("author", "createdBy", "changedBy")]
    assert callers == ["authToken"] * 3


def test_staff_keep_the_author(house: Storage, desk: MakeClient) -> None:
    """Staff accounts have no element; without an author every editor could edit the copy."""
    account, staff = StaffAccountFactory.create(), ApiClient()
    StorageMembership.objects.create(account=account, storage=house, roles=["architect"])
    staff.force_login(account)
    new = one(staff.post(f"{API}/release/{ID['order']}/createversion", b"", content_type="application/json"))
    assert new["related"]["author"] == [person("anna")]
    assert {"createdBy", "changedBy"}.isdisjoint(new["related"])
    assert (new["state"], new["attributes"]["version"]) == ("inProcess", {"127": "2.1"})
    scope = {"versionId": new["versionId"], "attributes": {"scope": {"1033": "x"}}}
    assert desk(Role.EDITOR).update(scope).status_code == 403
    assert one(desk(user="anna").update(scope))["attributes"]["scope"] == {"1033": "x"}


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("release/nonsense/createversion", None, 400, "'nonsense' is not a GUID."),
        (f"release/{UNKNOWN}/createversion" if (UNKNOWN := "ffffffff-0000-4000-8000-000000000000") else "", None, 404,
         f"There is no element {UNKNOWN}."),
        (f"release/{ID['order']}/createversion", {"comment": "x"}, 400, "This operation takes no body."),
        (f"release/{ID['order']}/createversion?$page=1", None, 400, "$page: this operation takes no $ parameters."),
    ],
)  # fmt: skip
def test_invalid_requests(desk: MakeClient, path: str, body: Any, status: int, text: str) -> None:
    kind = ("error", "volatile" if status == 404 else "inline")
    assert error(desk(user="anna").post(path, body)) == (status, *kind, [text])


def test_methods(desk: MakeClient) -> None:
    found = desk(user="anna").get(f"release/{ID['order']}/createversion")
    assert (found.status_code, found["Allow"]) == (405, "POST")


def test_an_idempotency_key_creates_one_version(desk: MakeClient, house: Storage) -> None:
    anna = desk(user="anna")
    path = f"release/{ID['order']}/createversion"
    first = anna.post(path, **{"Idempotency-Key": "one"})
    again = anna.post(path, **{"Idempotency-Key": "one"})
    assert (first.status_code, first.content, first["ETag"]) == (200, again.content, again["ETag"])
    with tenant_scope(house):
        assert ElementVersion.objects.filter(element_id=ID["order"]).count() == 3


def test_if_match(desk: MakeClient) -> None:
    anna = desk(user="anna")
    tag = anna.get(f"rest/facets/processes/views/detail/elements/{ID['order']}")["ETag"]
    path = f"release/{ID['order']}/createversion"
    assert anna.post(path, **{"If-Match": '"stale.1"'}).status_code == 412
    assert anna.post(path, **{"If-Match": tag}).status_code == 200


def test_the_new_version_is_logged(desk: MakeClient) -> None:
    anna = desk(user="anna")
    new = anna.new_version("order")
    step = anna.steps("order")[-1]
    posted = anna.post(f"rest/facets/processes/views/detail/elements/{ID['order']}/lifecycle")
    assert (posted.status_code, posted.json()) == (200, {"count": 1, "values": [step]})
    assert step == {
        "number": 1,
        "step": "version",
        "versionId": new["versionId"],
        "version": "2.1",
        "toState": "inProcess",
        "changedOn": new["attributes"]["createdOn"]["127"],
        "caller": step["caller"],
        "requestId": step["requestId"],
        "changedBy": person("anna"),
    }
    changes = anna.get(f"{DETAIL.removeprefix(API + '/')}/{ID['order']}/history").json()["values"]
    assert [(each["action"], each["before"], each["after"]) for each in changes] == [
        ("versioned", {}, {"copiedFrom": ID["order-2"], "state": "inProcess", "version": "2.1"})
    ]
    task = new["content"][1]["id"]
    changes = anna.get(f"{DETAIL.removeprefix(API + '/')}/{task}/history").json()["values"]
    assert [(each["action"], each["after"]) for each in changes] == [("created", {"copiedFrom": ID["order-2-task"]})]


def test_deleting_the_draft_keeps_the_earlier_version_and_frees_the_number(desk: MakeClient, house: Storage) -> None:
    anna = desk(user="anna")
    before = everything_about(anna, ID["order-2"])
    with tenant_scope(house):
        elements = Element.objects.count()
    new = anna.new_version("order")["versionId"]
    assert anna.post(f"rest/facets/processes/views/detail/elements/{new}/delete").status_code == 200
    assert everything_about(anna, ID["order-2"]) == before
    with tenant_scope(house):
        assert Element.objects.count() == elements
    assert anna.new_version("order")["attributes"]["version"] == {"127": "2.1"}


def test_a_draft_deleted_before_the_lock_does_not_matter(desk: MakeClient, house: Storage) -> None:
    """A new version is created all the same."""
    anna = desk(user="anna")
    draft = anna.new_version("order")["versionId"]
    with tenant_scope(house):
        stale = read_versions([draft])[draft]
    assert anna.post(f"rest/facets/processes/views/detail/elements/{draft}/delete").status_code == 200
    with tenant_scope(house):
        with pytest.raises(NotFound) as caught:
            create_version(writer_of(anna), stale, named=draft)
        assert caught.value.message == f"There is no element {draft}."
        new = create_version(writer_of(anna), stale, named=ID["order"])
    assert new not in (draft, ID["order-2"])
    found = anna.element("order")
    assert (found["versionId"], found["state"]) == (new, "inProcess")
    assert (found["attributes"]["name"]["1033"], found["attributes"]["version"]) == ("order-2", {"127": "2.1"})


def test_another_tenant_with_the_same_ids_is_unchanged(desk: MakeClient, api: ApiClient, house: Storage) -> None:
    rival = Storage.objects.get(collection__key="rival", key="house")
    desk(user="anna").new_version("order")
    with tenant_scope(rival):
        assert ElementVersion.objects.filter(element_id=ID["order"]).count() == 2
    foreign = token_for(rival, Role.ADMINISTRATOR)
    assert api.post(f"{API}/release/{ID['order']}/createversion", token=foreign).status_code == 401
    own = api.get(f"/rival/house/_api/rest/facets/processes/views/detail/elements/{ID['order']}", token=foreign)
    assert one(own)["attributes"]["name"]["1033"] == "Rival order-2"
    assert user("anna")["id"] == ID["anna"]


def test_warnings_can_be_ignored_by_a_path_segment(desk: MakeClient) -> None:
    """Through either prefix; see the tests of transitions for other forms."""
    cora = desk(user="cora")
    for prefix, name in (("release", "order"), ("rest/release", "expired")):
        new = cora.new_version(name)["versionId"]
        assert one(cora.post(f"{prefix}/{new}/transitions/InProcessToReleased/true"))["state"] == "released"


def test_a_diagram_with_large_elements_is_copied_in_batches(
    caller: HouseClient, house: Storage, settings: Settings
) -> None:
    drawn = [ID[f"order-2-{part}"] for part in ("start", "task", "end")]
    with tenant_scope(house):
        for number, id in enumerate(drawn):
            ElementVersion.objects.filter(id=id).update(attributes={"name": {"1033": f"{number}" * 4_000}})
    # Two of them are too heavy together, and each is by itself.
    settings.RESPONSE_BYTES = 6_000
    new = caller.new_version("order")
    with tenant_scope(house):
        shapes = Shape.objects.filter(version_id=new["versionId"]).order_by("position")
        copies = [str(each.element_id) for each in shapes]
        found = {str(each.id): each.attributes for each in ElementVersion.objects.filter(id__in=copies)}
        positions = set(Element.objects.filter(id__in=copies).values_list("position", flat=True))
    assert [found[each]["name"]["1033"] for each in copies] == [f"{number}" * 4_000 for number in range(3)]
    assert len(positions) == 3
