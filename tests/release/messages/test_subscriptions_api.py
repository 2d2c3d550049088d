"""Subscriptions in the API (D376): who subscribes, and what subscribers see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from elements.people import subscriptions
from elements.people.subscriptions import changes_of_subscriptions, subscribers_of
from facets.configuration import configuration_of
from storage.access.callers import Caller, CallerKind
from storage.events.recording import record_configuration
from storage.models import AnonymousAccess, Storage, Subscription
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.release.house import API, ID, HouseClient, MakeClient
from tests.release.settable_clock import NOON, SettableClock
from tests.release.task_pages import member

pytestmark = pytest.mark.django_db
PATH = "v1/subscriptions/"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, NOON)


def unsubscribe(who: HouseClient, name: str) -> Any:
    return who.api.delete(f"{API}/{PATH}{ID[name]}", token=who.token)


def test_subscribe_list_and_unsubscribe(house: Storage, desk: MakeClient, rival: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    of_anna = {"name": "Anna", "userId": ID["anna"], "subtree": False, "since": "2026-07-01T12:00:00"}
    of_ben = {"name": "Ben", "userId": ID["ben"], "subtree": True, "since": "2026-07-01T12:00:00"}
    address = f"{PATH}{ID['released']}"
    assert anna.get(address).json() == {"count": 0, "values": []}
    assert anna.post(address).json() == {"count": 1, "values": [of_anna]}
    found = ben.post(address, {"subtree": True}).json()
    assert (found["count"], sorted(found["values"], key=str)) == (2, sorted([of_anna, of_ben], key=str))
    pages = [anna.get(f"{address}?$page={number}&$pageSize=1") for number in (1, 2, 3)]
    assert [each for page in pages for each in page.json()["values"]] == found["values"]
    assert [page["X-Total-Count"] for page in pages] == ["2"] * 3
    # The id of a version means its element, and subscribing again changes the subscription.
    assert unsubscribe(ben, "released-1").json() == {"count": 1, "values": [of_anna]}
    assert anna.post(f"{PATH}{ID['released-1']}", {"subtree": True}).json()["values"] == [of_anna | {"subtree": True}]
    assert unsubscribe(anna, "released").json() == {"count": 0, "values": []}
    assert unsubscribe(anna, "released").json() == {"count": 0, "values": []}


def test_viewers_see_only_themselves_and_no_drafts(house: Storage, desk: MakeClient) -> None:
    vera = desk(user="vera")
    desk(user="anna").post(f"{PATH}{ID['released']}")
    assert vera.get(f"{PATH}{ID['released']}").json()["count"] == 0
    assert [each["name"] for each in vera.post(f"{PATH}{ID['released']}").json()["values"]] == ["Vera"]
    for method in (vera.get, vera.post):
        assert method(f"{PATH}{ID['inProcess']}").status_code == 404


def test_people_can_unsubscribe_from_elements_that_they_cannot_see(house: Storage, desk: MakeClient) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    vera.post(f"{PATH}{ID['released']}")
    ben.post(f"{PATH}{ID['inProcess']}")
    with tenant_scope(house):
        Subscription.objects.filter(element_id=ID["released"]).update(element_id=ID["inProcess"])
    assert unsubscribe(vera, "inProcess").json() == {"count": 0, "values": []}
    # The answer does not tell whether the element exists.
    assert unsubscribe(vera, "inProcess").status_code == 404
    with tenant_scope(house):
        assert [each.recipient.key for each in Subscription.objects.select_related("recipient")] == [
            f"user:{ID['ben']}"
        ]


def test_the_number_of_subscriptions_is_limited(
    house: Storage, desk: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MOST_SUBSCRIPTIONS", 2)
    anna = desk(user="anna")
    assert [anna.post(f"{PATH}{ID[name]}").status_code for name in ("released", "erp")] == [200, 200]
    response = anna.post(f"{PATH}{ID['house']}")
    assert response.status_code == 422
    assert response.json()["message"] == (
        "You already have 2 subscriptions, which is the limit. Unsubscribe from an element first, or subscribe to one"
        " with everything below it."
    )
    assert anna.post(f"{PATH}{ID['erp']}", {"subtree": True}).status_code == 200
    assert desk(user="ben").post(f"{PATH}{ID['house']}").status_code == 200


def test_only_people_subscribe(house: Storage, desk: MakeClient, api: ApiClient) -> None:
    service = desk(Role.EDITOR)
    response = service.post(f"{PATH}{ID['released']}")
    assert response.status_code == 403
    assert response.json()["message"] == (
        "Only people can subscribe. Use a token of a user; a token without one can follow rest/changes instead."
    )
    assert unsubscribe(service, "released").status_code == 200
    Storage.objects.filter(pk=house.pk).update(anonymous_access=AnonymousAccess.READ)
    assert api.get(f"{API}/{PATH}{ID['released']}").status_code == 401


def test_accounts_without_a_user_subscribe_too(house: Storage) -> None:
    client = member(house, Role.EDITOR, first_name="Nora", last_name="North")
    client.get(f"/acme/house/admin/elements/element/{ID['released']}/change/")
    csrf = {"X-CSRFToken": client.cookies["csrftoken"].value}
    found = client.post(f"{API}/{PATH}{ID['released']}", content_type="application/json", headers=csrf).json()
    assert found["values"] == [{"name": "Nora North", "subtree": False, "since": "2026-07-01T12:00:00"}]


@pytest.mark.parametrize("body", [[], "subtree", {"subtree": "yes"}, {"tree": True}, {"subtree": None}])
def test_bodies_that_are_not_understood(body: Any, desk: MakeClient) -> None:
    response = desk(user="anna").post(f"{PATH}{ID['released']}", body)
    assert (response.status_code, response.json()["message"]) == (
        400,
        'The body must be empty or an object such as {"subtree": true}.',
    )


def test_a_subtree_has_everything_below_and_an_element_only_itself(house: Storage, desk: MakeClient) -> None:
    desk(user="anna").post(f"{PATH}{ID['house']}", {"subtree": True})
    desk(user="ben").post(f"{PATH}{ID['house']}")
    anna, ben = f"user:{ID['anna']}", f"user:{ID['ben']}"
    with tenant_scope(house):
        found = subscribers_of([ID["house"], ID["released"], ID["erp"]])
    assert found == {ID["house"]: {anna, ben}, ID["released"]: {anna}, ID["erp"]: set()}


def test_what_changed_is_what_the_caller_may_see(
    house: Storage,
    desk: MakeClient,
    clock: SettableClock,
    deliver: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock.set("2040-07-01T10:00:00+00:00")
    for who in ("vera", "anna"):
        desk(user=who).post(f"{PATH}{ID['house']}", {"subtree": True})
    cora = desk(user="cora")
    cora.applied("inProcess", "InProcessToInReview")
    cora.applied("readyForRelease", "ReadyForReleaseToReleased")
    # Viewers see no tasks.
    cora.applied("readyForRelease", "ReleasedToRequestToExpire")
    other = {"elements": [{"type": "system", "attributes": {"name": {"1033": "Not below"}}}]}
    assert cora.post("rest/facets/it/views/detail/elements", other).status_code == 200
    deliver()

    def changed(name: str, role: Role) -> set[tuple[str, str]]:
        caller = Caller(CallerKind.TOKEN, "token:x", frozenset({role}), UUID(ID[name]))
        with tenant_scope(house):
            found = changes_of_subscriptions(configuration_of(house), caller, clock.moment.replace(hour=0), 10)
        return {(each.element, each.type) for each in found}

    assert changed("vera", Role.VIEWER) == {(ID["readyForRelease"], "version.released")}
    assert changed("anna", Role.EDITOR) == {
        (ID["readyForRelease"], "task.opened"),
        (ID["inProcess"], "version.stateChanged"),
    }
    # The last event is no change of an element, and no older one is looked for.
    clock.set("2040-07-01T11:00:00+00:00")
    with tenant_scope(house):
        record_configuration(house, ["types.process"])
    deliver()
    monkeypatch.setattr(subscriptions, "LOOKED_AT", 1)
    assert changed("anna", Role.EDITOR) == set()


def test_a_deleted_element_has_no_subscribers(house: Storage, desk: MakeClient, deliver: Callable[[], None]) -> None:
    anna = desk(user="anna")
    anna.post(f"{PATH}{ID['erp']}")
    anna.post(f"{PATH}{ID['inProcess']}")
    response = anna.api.delete(f"{API}/rest/facets/processes/views/detail/elements/{ID['inProcess']}", token=anna.token)
    assert response.status_code == 200, response.content
    deliver()
    with tenant_scope(house):
        assert [str(each.element_id) for each in Subscription.objects.all()] == [ID["erp"]]
