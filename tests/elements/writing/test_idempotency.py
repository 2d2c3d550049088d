"""Idempotency-Key (D15): a request that is sent twice is done once, and answered alike both times."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from elements.models import Element, ElementChange
from repository_site.core.database.commits import ShardMoved
from storage.api import viewset
from storage.idempotency import keep_answer
from storage.models import Storage
from storage.models.answered_requests import AnsweredRequest
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.drawing import content, new, one, problems
from tests.elements.element_parts import part
from tests.elements.handbook import ID
from tests.factories import token_for
from tests.tags import version_tag

pytestmark = pytest.mark.django_db

SYSTEMS = "/acme/handbook/_api/rest/facets/it/views/detail/elements"
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"


def send(api: ApiClient, token: str, address: str, body: Any, key: str | None = "k-1", **more: Any) -> Any:
    headers = {**more.pop("headers", {}), **({"Idempotency-Key": key} if key is not None else {})}
    if body is None:
        return api.generic("POST", address, token=token, headers=headers)
    return api.post(address, body, content_type="application/json", token=token, headers=headers)


def system(name: str) -> dict[str, Any]:
    return {"elements": [{"type": "system", "attributes": {"name": {"1033": name}}}]}


def elements(storage: Storage) -> int:
    """Without the elements of tokens, which tests make on the way."""
    with tenant_scope(storage):
        return Element.objects.exclude(type__key="authToken").count()


def same(first: Any, second: Any) -> None:
    assert (first.status_code, second.status_code) == (200, 200), second.json()
    assert second.content == first.content
    own = {"X-Request-ID"}
    assert {name: value for name, value in second.items() if name not in own} == {
        name: value for name, value in first.items() if name not in own
    }


def test_a_change_that_meets_a_moving_shard_is_made_once(
    api: ApiClient, handbook: Storage, editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last statement of the transaction fails, and the request is repeated (D308)."""
    calls = []

    def keep(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) < 3:
            raise ShardMoved("the query contains a join that requires repartitioning")
        keep_answer(*arguments)

    monkeypatch.setattr(viewset, "keep_answer", keep)
    before = elements(handbook)
    first = send(api, editor, SYSTEMS, system("Wiki"))
    assert (len(calls), elements(handbook)) == (3, before + 1)
    same(first, send(api, editor, SYSTEMS, system("Wiki")))
    assert (len(calls), elements(handbook)) == (3, before + 1)


def test_the_same_key_and_request_give_the_same_answer_and_one_element(
    api: ApiClient, handbook: Storage, editor: str
) -> None:
    before = elements(handbook)
    first = send(api, editor, SYSTEMS, system("Wiki"))
    second = send(api, editor, SYSTEMS, system("Wiki"))
    same(first, second)
    assert first["ETag"] == second["ETag"]
    assert first["ETag"].startswith('"')
    assert elements(handbook) == before + 1
    (made,) = first.json()["elements"]
    read = api.get(f"{SYSTEMS}/{made['id']}", token=editor)
    assert (read.content, version_tag(read["ETag"])) == (first.content, first["ETag"])
    assert first["X-Request-ID"] != second["X-Request-ID"]


def test_without_a_key_or_with_another_it_is_done_again(api: ApiClient, handbook: Storage, editor: str) -> None:
    before = elements(handbook)
    answers = [send(api, editor, SYSTEMS, system("Wiki"), key) for key in (None, None, "a", "b", "A")]
    assert len({each.content for each in answers}) == 5
    assert elements(handbook) == before + 5


def test_another_request_under_the_same_key(api: ApiClient, handbook: Storage, anna: str) -> None:
    send(api, anna, SYSTEMS, system("Wiki"))
    before = elements(handbook)
    list_view = SYSTEMS.replace("detail", "list")
    for address, body in (
        (SYSTEMS, system("Forum")),
        (list_view, system("Wiki")),
        (PROCESSES, {"elements": []}),
        (part("order", "content", "diagram"), {"values": [new(0, "task", "a")]}),
        (part("order-3", "delete"), None),
    ):
        (text,) = problems(send(api, anna, address, body), 422)
        assert "Idempotency-Key" in text
    response = api.delete(part("order-3", "").removesuffix("/"), token=anna, headers={"Idempotency-Key": "k-1"})
    problems(response, 422)
    assert elements(handbook) == before
    assert one(api, anna, "order")["versionId"] == ID["order-3"]


def test_each_caller_and_each_storage_has_keys_of_its_own(api: ApiClient, handbook: Storage, anna: str) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    before = (elements(handbook), elements(rival))
    # Two tokens of the same name are two callers; so are two tokens of one user.
    tokens = [anna, token_for(handbook, Role.EDITOR), token_for(handbook, Role.EDITOR)]
    answers = [send(api, token, SYSTEMS, system("Wiki")) for token in tokens]
    answers.append(send(api, token_for(rival, Role.EDITOR), SYSTEMS.replace("acme", "rival"), system("Wiki")))
    assert [each.status_code for each in answers] == [200] * 4
    assert len({each.json()["elements"][0]["id"] for each in answers}) == 4
    assert (elements(handbook), elements(rival)) == (before[0] + 3, before[1] + 1)
    same(answers[1], send(api, tokens[1], SYSTEMS, system("Wiki")))


def test_a_request_that_failed_leaves_the_key_free(api: ApiClient, handbook: Storage, editor: str) -> None:
    wrong = {"elements": [{"type": "system", "attributes": {"nane": {"1033": "Wiki"}}}]}
    problems(send(api, editor, SYSTEMS, wrong), 422)
    problems(send(api, editor, SYSTEMS, {"elements": 1}), 400)
    problems(
        send(api, editor, PROCESSES, {"elements": [{"id": ID["house"], "attributes": {"name": {"1033": "x"}}}]}), 403
    )
    problems(send(api, editor, f"{PROCESSES}/{ID['order-2']}/delete", None), 409)
    stale = {"elements": [{"id": ID["crm"], "attributes": {"name": {"1033": "x"}}}]}
    problems(send(api, editor, SYSTEMS, stale, headers={"If-Match": '"stale"'}), 412)
    with tenant_scope(handbook):
        assert not AnsweredRequest.objects.exists()
    first = send(api, editor, SYSTEMS, system("Wiki"))
    same(first, send(api, editor, SYSTEMS, system("Wiki")))


def test_a_day_later_the_key_is_free_again(api: ApiClient, handbook: Storage, editor: str) -> None:
    first = send(api, editor, SYSTEMS, system("Wiki"))
    with tenant_scope(handbook):
        AnsweredRequest.objects.update(created_on=timezone.now() - timedelta(hours=23, minutes=59))
    same(first, send(api, editor, SYSTEMS, system("Wiki")))
    with tenant_scope(handbook):
        AnsweredRequest.objects.update(created_on=timezone.now() - timedelta(hours=24, seconds=1))
    later = send(api, editor, SYSTEMS, system("Forum"))
    assert later.json()["elements"][0]["attributes"]["name"] == {"1033": "Forum"}
    same(later, send(api, editor, SYSTEMS, system("Forum")))
    problems(send(api, editor, SYSTEMS, system("Wiki")), 422)


@pytest.mark.parametrize("key", ["", " ", "two words", "k" * 256, "kéy", "tab\there"])
def test_a_key_that_is_none(api: ApiClient, handbook: Storage, editor: str, key: str) -> None:
    before = elements(handbook)
    (text,) = problems(send(api, editor, SYSTEMS, system("Wiki"), key), 400)
    assert "Idempotency-Key" in text
    assert elements(handbook) == before


@pytest.mark.parametrize(
    "key", ["k", "k" * 255, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", "9f1b4a3e-0d67-4e0a-8d0c-6d4d3e1f2a55"]
)
def test_a_key_that_is_one(api: ApiClient, handbook: Storage, editor: str, key: str) -> None:
    same(send(api, editor, SYSTEMS, system("Wiki"), key), send(api, editor, SYSTEMS, system("Wiki"), key))


def test_an_update_is_done_once(api: ApiClient, handbook: Storage, editor: str) -> None:
    body = {"elements": [{"id": ID["crm"], "attributes": {"name": {"1033": "CRM 2"}}}]}
    first = send(api, editor, SYSTEMS, body)
    same(first, send(api, editor, SYSTEMS, body))
    with tenant_scope(handbook):
        assert ElementChange.objects.filter(version_id=ID["crm-1"]).count() == 1


def test_the_kept_answer_is_given_also_when_the_element_was_changed_meanwhile(
    api: ApiClient, handbook: Storage, editor: str
) -> None:
    body = {"elements": [{"id": ID["crm"], "attributes": {"name": {"1033": "CRM 2"}}}]}
    read = api.get(f"{SYSTEMS}/{ID['crm']}", token=editor)["ETag"]
    first = send(api, editor, SYSTEMS, body, headers={"If-Match": read})
    changed = {"elements": [{"id": ID["crm"], "attributes": {"name": {"1033": "CRM 3"}}}]}
    send(api, editor, SYSTEMS, changed, None)
    # The tag that was read is stale by now, but the request was done when it was not.
    same(first, send(api, editor, SYSTEMS, body, headers={"If-Match": read}))
    stored = api.get(f"{SYSTEMS}/{ID['crm']}", token=editor).json()["elements"][0]
    assert stored["attributes"]["name"] == {"1033": "CRM 3"}


def test_drawing_is_done_once(api: ApiClient, handbook: Storage, anna: str) -> None:
    body = {"values": [new(0, "task", "a"), new(1, "task", "b", 0)]}
    first = send(api, anna, part("invoice", "content", "diagram"), body)
    same(first, send(api, anna, part("invoice", "content", "diagram"), body))
    shapes = [each["id"] for each in first.json()["values"]]
    assert [each["properties"]["shapeId"] for each in content(api, anna, "invoice")] == shapes


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_deleting_is_done_once(api: ApiClient, handbook: Storage, anna: str, method: str) -> None:
    ending = "delete" if method == "POST" else ""
    headers = {"Idempotency-Key": "k-1"}
    for address in (part("order-3", f"content/{ID['shape-check-3']}/{ending}"), part("order-3", ending)):
        address = address.removesuffix("/")
        headers["Idempotency-Key"] += "+"
        first = api.generic(method, address, token=anna, headers=headers)
        same(first, api.generic(method, address, token=anna, headers=headers))
        problems(api.generic(method, address, token=anna), 404)
    assert one(api, anna, "order")["versionId"] == ID["order-2"]


def test_another_api_version_is_another_request(api: ApiClient, handbook: Storage, editor: str) -> None:
    """The answer has another form then, and the kept one would not be it."""
    send(api, editor, SYSTEMS, system("Wiki"))
    response = send(api, editor, SYSTEMS, system("Wiki"), headers={"api-version": "3.0"})
    problems(response, 422)


def test_the_answer_of_another_role_is_not_given(api: ApiClient, handbook: Storage, editor: str) -> None:
    send(api, editor, SYSTEMS, system("Wiki"))
    problems(send(api, token_for(handbook, Role.VIEWER), SYSTEMS, system("Wiki")), 403)
