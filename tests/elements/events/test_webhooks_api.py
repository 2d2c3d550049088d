"""Webhooks in the API, `_api/rest/webhooks`: fields, problems, secrets, deliveries, and who changed what (D360, D361)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from structlog.testing import capture_logs

from storage.models import (
    AnsweredRequest,
    ApiToken,
    Storage,
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
)
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from storage.webhooks.changing import create_webhook
from storage.webhooks.credentials import active_secrets, sent_headers
from tests.api_client import ApiClient
from tests.elements.feed import Feed
from tests.factories import issued_token
from tests.jobs import waiting_jobs

pytestmark = pytest.mark.django_db
WEBHOOKS = "/acme/handbook/_api/rest/webhooks"
URL = "https://93.184.216.34/hook"
Document = dict[str, Any]


class WebhookClient:
    """An administrator of the storage."""

    def __init__(self, api: ApiClient, storage: Storage) -> None:
        self.api = api
        self.token = issued_token(storage, Role.ADMINISTRATOR)
        self.label = f"token:{ApiToken.objects.get(storage=storage).id}"

    def send(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        options: Document = {"token": self.token}
        if method != "get":
            options |= {"content_type": "application/json", "data": b"" if body is None else body}
        if headers:
            options["headers"] = {name.replace("_", "-"): value for name, value in headers.items()}
        return getattr(self.api, method)(f"{WEBHOOKS}{path}", **options)

    def make(self, **fields: Any) -> Document:
        response = self.send("post", "", {"url": URL, **fields})
        assert response.status_code == 200, response.json()
        [found] = response.json()["values"]
        return dict(found)


@pytest.fixture
def admin(api: ApiClient, handbook: Storage) -> WebhookClient:
    return WebhookClient(api, handbook)


def only(response: Any) -> Document:
    assert response.status_code == 200, response.json()
    [found] = response.json()["values"]
    return dict(found)


def problems(response: Any) -> list[str]:
    return [each["error"] for each in response.json()["data"]]


def row(handbook: Storage, id: str) -> Webhook:
    with tenant_scope(handbook):
        return Webhook.objects.get(pk=id)


def test_a_webhook_is_created_read_changed_and_deleted(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make(
        events=["version.released", "element.created"],
        facet="PROCESSES",
        payload="element",
        headers={"X-Team": "docs"},
        basicAuthentication={"username": "me", "password": "p:ss"},
    )
    secret = made.pop("secret")
    shown = {
        "id": made["id"],
        "url": URL,
        "events": ["element.created", "version.released"],
        "facet": "processes",
        "payload": "element",
        "headers": {"X-Team": None},
        "basicAuthentication": {"username": "me"},
        "isEnabled": True,
        "createdOn": made["createdOn"],
        "createdBy": admin.label,
        "changedOn": made["createdOn"],
        "changedBy": admin.label,
    }
    assert made == shown
    kept = row(handbook, made["id"])
    assert active_secrets(kept, timezone.now()) == [secret]
    assert sent_headers(kept) == {"X-Team": "docs", "Authorization": "Basic bWU6cDpzcw=="}
    assert only(admin.send("get", f"/{made['id']}")) == only(admin.send("post", f"/{made['id']}")) == shown
    assert admin.send("get").json() == {"count": 1, "values": [shown]}
    assert admin.send("post").json() == admin.send("get").json()
    changed = only(
        admin.send("patch", f"/{made['id']}", {"facet": None, "headers": {"X-Team": None, "X-New": "1"}, "events": []})
    )
    del shown["facet"]
    shown |= {"events": [], "headers": {"X-Team": None, "X-New": None}, "changedOn": changed["changedOn"]}
    assert changed == shown
    assert changed["changedOn"] > changed["createdOn"]
    assert sent_headers(row(handbook, made["id"]))["X-Team"] == "docs"
    deleted = admin.send("delete", f"/{made['id']}").json()
    assert deleted == {
        "message": f"The webhook {made['id']} has been deleted.", "output": "volatile", "type": "success"
    }  # fmt: skip
    assert admin.send("get", f"/{made['id']}").status_code == 404
    assert admin.send("get").json() == {"count": 0, "values": []}


def test_nothing_of_the_secrets_is_kept_in_plain_text(admin: WebhookClient, handbook: Storage) -> None:
    body = {"url": URL, "headers": {"X-Key": "s3cret"}, "basicAuthentication": {"username": "me", "password": "hidden"}}
    response = admin.send("post", "", body, Idempotency_Key="once")
    made = only(response)
    with tenant_scope(handbook):
        [kept] = Webhook.objects.values()
        assert not any(each in repr(kept) for each in ("s3cret", "hidden", made["secret"]))
        [answered] = AnsweredRequest.objects.values()
    assert made["secret"] not in repr(answered)
    again = admin.send("post", "", body, Idempotency_Key="once")
    assert only(again) == {name: value for name, value in made.items() if name != "secret"}
    assert again["ETag"] == response["ETag"]


def test_all_problems_of_a_webhook_are_reported_at_once(admin: WebhookClient) -> None:
    body = {
        "url": "https://127.0.0.1/inside",
        "urls": "x",
        "events": ["element.create", "token.created"],
        "facet": "procesess",
        "elementType": 5,
        "state": "relesed",
        "payload": "fat",
        "headers": {"Host": "a", "Webhook-Id": "b", "X Y": "c", "X-Line": "a\r\nb", "X-Old": None},
        "basicAuthentication": {"username": "a:b", "password": ""},
        "isEnabled": "yes",
    }
    response = admin.send("post", "", body)
    assert response.status_code == 422
    assert response.json()["message"] == "The webhook is not valid."
    found = problems(response)
    assert found.pop(1).startswith("url: ")
    assert found == [
        "urls: unknown field; similar: url.",
        "events: unknown name 'element.create'; similar: element.created, element.deleted, element.changed.",
        "facet: unknown name 'procesess'; similar: processes.",
        "elementType: expected a name, or null.",
        "state: unknown name 'relesed'; similar: released.",
        "payload: expected thin or element.",
        "headers.Host: the service sets this header itself; choose another name.",
        "headers.Webhook-Id: the service sets this header itself; choose another name.",
        "headers.X Y: expected a name of letters, digits and hyphens.",
        "headers.X-Line: expected 1 to 2000 visible ASCII characters.",
        "headers.X-Old: expected 1 to 2000 visible ASCII characters.",
        "basicAuthentication.username: expected 1 to 100 visible characters without a colon.",
        "basicAuthentication.password: expected 1 to 100 visible characters.",
        "isEnabled: expected true or false.",
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"events": []}, "url: a webhook needs an address, such as https://example.org/hook."),
        ({"url": 5}, "url: expected a text of at most 2000 characters."),
        ({"url": URL, "events": "all"}, 'events: expected a list of types of events, such as ["element.created"].'),
        ({"url": URL, "headers": []}, 'headers: expected values by name, such as {"X-Team": "docs"}.'),
        ({"url": URL, "headers": {f"X-{n}": "a" for n in range(21)}}, "headers: at most 20 headers are possible."),
        (
            {"url": URL, "headers": {"X-A": "1", "x-a": "2"}},
            "headers: a name occurs twice; upper and lower case do not matter.",
        ),
        (
            {"url": URL, "headers": {"authorization": "Basic YTpi"}},
            "headers.authorization: use basicAuthentication instead.",
        ),
        (
            {"url": URL, "basicAuthentication": {"user": "a"}},
            "basicAuthentication: expected an object with username and password, or null.",
        ),
    ],
)
def test_single_problems(admin: WebhookClient, body: Document, problem: str) -> None:
    response = admin.send("post", "", body)
    assert (response.status_code, problems(response)) == (422, [problem])


def test_malformed_requests(admin: WebhookClient) -> None:
    made = admin.make()
    for method, path, body, message in (
        ("post", "", [1], "The body must be a JSON object."),
        ("patch", "/5", {}, "'5' is not a GUID."),
        ("get", f"/{made['id']}?$page=1", None, "$page: this operation takes no $ parameters."),
        ("post", f"/{made['id']}/rotate", {"hours": 1}, "hours: unknown field; use overlapHours."),
        ("post", f"/{made['id']}/rotate", {"overlapHours": 721}, "overlapHours: expected a whole number from 0 to 720."),
        ("post", f"/{made['id']}/redeliver", {"deliveries": ["5"]},
            "deliveries: expected a list of at most 1000 ids of deliveries."),
        ("get", f"/{made['id']}/deliveries?state=lost", None,
            "state: expected waiting, delivered or dead, not 'lost'."),
    ):  # fmt: skip
        response = admin.send(method, path, body)
        assert (response.status_code, response.json()["message"]) == (400, message)
    for path, body, expected in (
        ("rotate", {"hours": 1, "overlapHours": True}, [
            "hours: unknown field; use overlapHours.", "overlapHours: expected a whole number from 0 to 720.",
        ]),
        ("redeliver", {"ids": 1, "all": 2}, [
            "ids: unknown field; use deliveries.", "all: unknown field; use deliveries.",
        ]),
    ):  # fmt: skip
        response = admin.send("post", f"/{made['id']}/{path}", body)
        assert (response.status_code, response.json()["message"]) == (400, "2 fields are invalid.")
        assert problems(response) == expected
    assert admin.send("post", f"/{made['id']}", {"url": URL}).json()["message"] == (
        "This operation only reads and takes no body. To change the webhook, send PATCH."
    )


def test_the_number_of_webhooks_is_limited(admin: WebhookClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.webhooks.changing.MOST_WEBHOOKS", 1)
    admin.make()
    response = admin.send("post", "", {"url": URL})
    message = "The storage has 1 webhooks already. Delete one first."
    assert (response.status_code, response.json()["message"]) == (409, message)


def test_webhooks_are_counted_while_nobody_else_adds_one(admin: WebhookClient) -> None:
    with CaptureQueriesContext(connection) as found:
        admin.make()
    statements = [each["sql"] for each in found]
    locks = [place for place, each in enumerate(statements) if "storage_eventlog l FOR UPDATE" in each]
    counts = [place for place, each in enumerate(statements) if "COUNT(*)" in each and "storage_webhook" in each]
    assert max(locks) < min(counts)


def test_the_password_stays_with_its_user(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make(basicAuthentication={"username": "me", "password": "hidden"})
    before = sent_headers(row(handbook, made["id"]))
    only(admin.send("patch", f"/{made['id']}", {"basicAuthentication": {"username": "me"}}))
    assert sent_headers(row(handbook, made["id"])) == before
    other = admin.send("patch", f"/{made['id']}", {"basicAuthentication": {"username": "you"}})
    assert problems(other) == ["basicAuthentication.password: expected 1 to 100 visible characters."]
    only(admin.send("patch", f"/{made['id']}", {"basicAuthentication": None}))
    assert sent_headers(row(handbook, made["id"])) == {}


def test_a_request_has_one_authorization(admin: WebhookClient) -> None:
    basic, header = {"username": "me", "password": "hidden"}, {"Authorization": "Bearer 1"}
    expected = ["basicAuthentication: the header Authorization is set as well; remove one of them."]
    assert problems(admin.send("post", "", {"url": URL, "headers": header, "basicAuthentication": basic})) == expected
    made = admin.make(headers=header)
    assert problems(admin.send("patch", f"/{made['id']}", {"basicAuthentication": basic})) == expected
    only(admin.send("patch", f"/{made['id']}", {"basicAuthentication": basic, "headers": {}}))
    assert problems(admin.send("patch", f"/{made['id']}", {"headers": header})) == expected


def test_a_name_is_looked_up_before_the_webhook_is_locked(
    admin: WebhookClient, handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking up can take seconds. Somebody may change the webhook meanwhile."""
    made = admin.make()

    def change(url: str) -> str:
        Webhook.objects.filter(pk=made["id"]).update(changed_on=timezone.now())
        return ""

    monkeypatch.setattr("storage.webhooks.checking.check_address", change)
    refused = admin.send("patch", f"/{made['id']}", {"url": f"{URL}/other"})
    message = "Somebody else has changed the webhook meanwhile. Read it again, then repeat your change."
    assert (refused.status_code, refused.json()["message"]) == (409, message)


def test_a_webhook_can_be_disabled_although_its_names_are_gone(admin: WebhookClient, handbook: Storage) -> None:
    """A form sends all fields back."""
    made = admin.make(facet="it", elementType="system")
    gone = {"url": "https://receiver.invalid/", "facet": "former", "elementType": "other"}
    with tenant_scope(handbook):
        names = {"url": gone["url"], "facet": gone["facet"], "element_type": gone["elementType"]}
        Webhook.objects.filter(pk=made["id"]).update(**names)
    assert only(admin.send("patch", f"/{made['id']}", {**gone, "isEnabled": False}))["isEnabled"] is False
    assert len(problems(admin.send("patch", f"/{made['id']}", {**gone, "url": "https://other.invalid/"}))) == 1
    assert len(problems(admin.send("post", "", gone))) == 3


def test_a_list_of_deliveries_reads_no_texts(admin: WebhookClient, handbook: Storage) -> None:
    """A thousand messages with large elements would fill the memory."""
    made = admin.make()
    _delivery(handbook, made["id"], 0, "dead")
    with CaptureQueriesContext(connection) as found:
        only(admin.send("get", f"/{made['id']}/deliveries"))
    statements = [each["sql"] for each in found if "storage_webhookdelivery" in each["sql"]]
    assert statements
    assert not [each for each in statements if '"message"' in each]


def test_the_log_has_no_addresses_of_webhooks(admin: WebhookClient) -> None:
    """They often contain a key of the receiver."""
    with capture_logs() as lines:
        made = admin.make(url=f"{URL}/s3cret")
    assert {"event": "webhook created", "log_level": "info", "webhook": made["id"]} in lines
    assert "s3cret" not in repr(lines)


def test_rotating_keeps_the_old_secret_for_a_while(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make()
    rotated = only(admin.send("post", f"/{made['id']}/rotate"))
    assert rotated["secret"] != made["secret"]
    kept = row(handbook, made["id"])
    now = timezone.now()
    assert active_secrets(kept, now) == [rotated["secret"], made["secret"]]
    assert active_secrets(kept, now + timedelta(days=1, minutes=1)) == [rotated["secret"]]
    assert rotated["oldSecretValidUntil"] > rotated["changedOn"]
    refused = admin.send("post", f"/{made['id']}/rotate", {"overlapHours": 1})
    message = "The secret before the last rotation is still valid. Wait, or rotate without overlap."
    assert (refused.status_code, refused.json()["message"]) == (409, message)
    last = only(admin.send("post", f"/{made['id']}/rotate", {"overlapHours": 0}))
    assert active_secrets(row(handbook, made["id"]), now) == [last["secret"]]
    assert "oldSecretValidUntil" not in last


def test_only_the_state_that_was_read_is_changed(admin: WebhookClient) -> None:
    made = admin.make()
    tag = admin.send("get", f"/{made['id']}")["ETag"]
    assert admin.send("patch", f"/{made['id']}", {"events": []}, If_Match=tag).status_code == 200
    for method, path in (("patch", ""), ("delete", ""), ("post", "/rotate")):
        response = admin.send(method, f"/{made['id']}{path}", {} if method != "delete" else None, If_Match=tag)
        assert (response.status_code, response.json()["message"]) == (
            412, "The webhook has changed since it was read; read it again."
        )  # fmt: skip


def test_a_test_waits_for_the_worker(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make()
    waiting = only(admin.send("post", f"/{made['id']}/test"))
    assert waiting == {
        "id": waiting["id"],
        "eventId": waiting["eventId"],
        "type": "webhook.test",
        "subject": waiting["eventId"],
        "state": "waiting",
        "createdOn": waiting["createdOn"],
        "attempts": [],
    }
    arguments = {"storage": str(handbook.pk), "arguments": {"webhook": made["id"]}}
    assert ("webhooks.deliver", arguments) in waiting_jobs()
    for method in ("get", "post"):
        assert admin.send(method, f"/{made['id']}/deliveries").json() == {"count": 1, "values": [waiting]}


def test_a_disabled_webhook_sends_nothing(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make(isEnabled=False)
    assert made["isEnabled"] is False
    for path in ("test", "redeliver"):
        response = admin.send("post", f"/{made['id']}/{path}")
        message = "The webhook is disabled, so it sends nothing. Enable it first."
        assert (response.status_code, response.json()["message"]) == (409, message)
    only(admin.send("patch", f"/{made['id']}", {"isEnabled": True}))
    assert ("webhooks.fan_out", {"storage": str(handbook.pk), "arguments": {}}) in waiting_jobs()


def test_dead_letters_are_sent_again(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make()
    ids = [_delivery(handbook, made["id"], number, state) for number, state in enumerate(("dead", "delivered", "dead"))]
    address = f"/{made['id']}/deliveries"
    dead = admin.send("get", f"{address}?state=dead&$pageSize=1")
    assert (dead["X-Total-Count"], dead.json()["values"][0]["id"]) == ("2", ids[2])
    assert dead.json()["values"][0] == {
        "id": ids[2],
        "eventId": str(UUID(int=2)),
        "type": "element.changed",
        "subject": str(UUID(int=7)),
        "state": "dead",
        "createdOn": "2026-01-02T01:00:00",
        "endedOn": "2026-01-03T01:00:00",
        "attempts": [{"time": "2026-01-03T01:00:00", "milliseconds": 12, "status": 500, "answer": "no"}],
    }
    unknown = admin.send("post", f"/{made['id']}/redeliver", {"deliveries": [ids[1], made["id"]]})
    message = f"This webhook has no delivery {made['id']}."
    assert (unknown.status_code, unknown.json()["message"]) == (404, message)
    one = admin.send("post", f"/{made['id']}/redeliver", {"deliveries": [ids[1]]}).json()
    assert one["message"] == "1 message is sent again."
    assert admin.send("post", f"/{made['id']}/redeliver").json()["message"] == "2 messages are sent again."
    found = admin.send("get", address).json()["values"]
    assert [(each["state"], "endedOn" in each) for each in found] == [("waiting", False)] * 3
    with tenant_scope(handbook):
        assert set(WebhookDelivery.objects.values_list("attempts", "first_attempt_on")) == {(0, None)}
    assert admin.send("delete", f"/{made['id']}").status_code == 200
    with tenant_scope(handbook):
        assert (WebhookDelivery.objects.count(), WebhookAttempt.objects.count()) == (0, 0)


def _delivery(storage: Storage, webhook: str, number: int, state: str) -> str:
    created = datetime(2026, 1, 2, tzinfo=UTC)
    with tenant_scope(storage):
        made = WebhookDelivery.objects.create(
            webhook_id=webhook, event_id=UUID(int=number), number=number, type="element.changed",
            subject_id=UUID(int=7), message="{}", state=state, attempts=3, created_on=created,
            first_attempt_on=created, ended_on=created + timedelta(days=1),
        )  # fmt: skip
        WebhookAttempt.objects.create(
            delivery=made, time=created + timedelta(days=1), status=500, milliseconds=12, answer="no"
        )
    return str(made.pk)


def test_the_feed_tells_who_changed_a_webhook(admin: WebhookClient) -> None:
    feed = Feed(admin.api, "acme/handbook", admin.token)
    feed.read()
    made = admin.make()
    admin.send("post", f"/{made['id']}/rotate")
    admin.send("delete", f"/{made['id']}")
    found = [(each["type"], each["data"]["changes"], each["data"]["caller"]) for each in feed.read()]
    assert found == [("configuration.changed", [f"webhooks.{made['id']}"], admin.label)] * 3


def test_a_new_webhook_begins_after_the_events_of_the_past(admin: WebhookClient, handbook: Storage) -> None:
    feed = Feed(admin.api, "acme/handbook", admin.token)
    before = len(feed.read())
    first, second = admin.make(), admin.make()
    assert row(handbook, first["id"]).position == before + 1
    assert row(handbook, second["id"]).position == before + 2


def test_another_storage_has_webhooks_of_its_own(admin: WebhookClient, handbook: Storage) -> None:
    rival = Storage.objects.select_related("collection").get(collection__key="rival", key="handbook")
    with tenant_scope(rival):
        theirs = create_webhook(rival, "somebody", {"url": URL}).webhook
    assert admin.send("get").json()["count"] == 0
    assert admin.send("get", f"/{theirs.pk}").status_code == 404
    assert admin.send("delete", f"/{theirs.pk}").status_code == 404
    with tenant_scope(rival):
        assert Webhook.objects.count() == 1


def test_the_number_of_statements_is_constant(admin: WebhookClient, handbook: Storage) -> None:
    made = admin.make()
    _delivery(handbook, made["id"], 0, "dead")

    def statements(path: str) -> int:
        with CaptureQueriesContext(connection) as found:
            assert admin.send("get", path).status_code == 200
        return len(found)

    paths = ("", f"/{made['id']}", f"/{made['id']}/deliveries")
    # The first request also notes the use of the token.
    statements("")
    before = [statements(path) for path in paths]
    for number in range(1, 4):
        admin.make()
        _delivery(handbook, made["id"], number, "waiting")
    assert [statements(path) for path in paths] == before
