"""Invalid requests about tasks: addresses, bodies, credentials, methods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.release.house import API, ID, MakeClient, error
from tests.release.stored_contents import fingerprints, rival_of
from tests.release.task_calls import LATER, LIFECYCLE, UNKNOWN, VERBS, WAY, act, done, open_task, refused

pytestmark = pytest.mark.django_db


class TestInvalidTaskRequests:
    def test_invalid_and_unknown_ids(self, house: Storage, desk: MakeClient) -> None:
        cora = desk(user="cora")
        for verb in VERBS:
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(cora, UNKNOWN.upper(), verb, **body), 404, f"There is no task {UNKNOWN}.")
            refused(act(cora, "x" * 100, verb, **body), 400, f"{'x' * 80 + '…'!r} is not a GUID.")
        refused(cora.get(f"rest/tasks/{UNKNOWN}"), 404, f"There is no task {UNKNOWN}.")
        refused(cora.get("rest/tasks/%7B%7D"), 400, "'{}' is not a GUID.")
        refused(cora.get(f"rest/tasks/{UNKNOWN.replace('-', '')}"), 400, f"{UNKNOWN.replace('-', '')!r} is not a GUID.")
        # The id of an element is not the id of a task.
        refused(cora.get(f"rest/tasks/{ID['released']}"), 404, f"There is no task {ID['released']}.")

    def test_tasks_of_another_tenant(self, house: Storage, desk: MakeClient, api: ApiClient) -> None:
        rival = rival_of(house)
        token = token_for(rival, Role.ADMINISTRATOR)
        address = f"/rival/house/_api/release/{ID['released']}/transitions/{WAY['released']}"
        assert api.post(address, b"", content_type="application/json", token=token).status_code == 200
        (task,) = api.get("/rival/house/_api/rest/tasks?assignee=all", token=token).json()["values"]
        cora = desk(user="cora")
        before = fingerprints(house)
        refused(cora.get(f"rest/tasks/{task['id']}"), 404, f"There is no task {task['id']}.")
        for verb in VERBS:
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(cora, task["id"], verb, **body), 404, f"There is no task {task['id']}.")
        assert fingerprints(house) == before
        assert cora.offered("released") == [WAY["released"]]
        assert done(api.get(f"/rival/house/_api/rest/tasks/{task['id']}", token=token)) == task

    @pytest.mark.parametrize(
        "verb", ["accept", "delegate", *(pytest.param(verb, marks=pytest.mark.long) for verb in ("reject", "withdraw"))]
    )
    def test_invalid_bodies(self, house: Storage, desk: MakeClient, api: ApiClient, verb: str) -> None:
        cora, task = desk(user="cora"), open_task(house)
        before = fingerprints(house)
        path = f"rest/tasks/{task}/{verb}"
        known = "assignee or comment" if verb == "delegate" else "comment"
        good = {"assignee": ID["dora"]} if verb == "delegate" else {}
        long = "comment: expected a text of at most 10000 characters."
        refused(cora.post(path, {**good, "Comment": "x"}), 400, f"Comment: unknown field; use {known}.")
        wrong: tuple[Any, ...] = (7, True, ["x"], {"1033": "x"}, "x" * 10_001)
        for value in wrong:
            refused(cora.post(path, {**good, "comment": value}), 400, long)
        refused(
            cora.post(path, {**good, "comment": 1, "validUntil": LATER}),
            400,
            f"validUntil: unknown field; use {known}.",
            long,
        )
        wrong = ([], [good], "x", 7, False)
        for value in wrong:
            refused(
                cora.post(path, value),
                400,
                f"The body must be empty or an object with {known.replace(' or ', ' and ')}.",
            )
        for content in (b"{", b'{"comment": "a", "comment": "b"}', b'{"comment": "\xff"}', b'{"comment": "\\u0000"}'):
            address = f"{API}/{path}"
            response = api.post(address, content, content_type="application/json", token=cora.token)
            assert error(response)[:3] == (400, "error", "inline")
        response = cora.post(f"{path}?$page=1", good)
        refused(response, 400, "$page: this operation takes no $ parameters.")
        assert fingerprints(house) == before
        assert cora.post(path, {**good, "comment": "x" * 10_000}).status_code == 200

    def test_unknown_fields_are_reported_in_their_order(self, house: Storage, desk: MakeClient) -> None:
        cora, task = desk(user="cora"), open_task(house)
        names = ["zeta", "alpha", "mid", "omega", "beta", "kappa", "nu", "eta"]
        errors = [f"{name}: unknown field; use comment." for name in names]
        refused(act(cora, task, "accept", **dict.fromkeys(names, 1)), 400, *errors)

    def test_all_problems_of_a_delegation_are_reported_at_once(self, house: Storage, desk: MakeClient) -> None:
        cora, task = desk(user="cora"), open_task(house)
        refused(
            act(cora, task, "delegate", to=ID["dora"], comment=1),
            400,
            "to: unknown field; use assignee or comment.",
            "comment: expected a text of at most 10000 characters.",
            "assignee: expected the id of a user.",
        )

    def test_without_a_token_or_as_a_viewer(self, house: Storage, desk: MakeClient, api: ApiClient) -> None:
        task = open_task(house)
        vera = desk(Role.VIEWER)
        before = fingerprints(house)
        for path in (f"rest/tasks/{task}", "rest/tasks", "rest/tasks/summary"):
            refused(vera.get(path), 403, LIFECYCLE)
            response = api.get(f"{API}/{path}")
            assert error(response)[:3] == (401, "unauthorized", "volatile")
            assert response["WWW-Authenticate"] == "Bearer"
        for verb in VERBS:
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(vera, task, verb, **body), 403, LIFECYCLE)
            address = f"{API}/rest/tasks/{task}/{verb}"
            response = api.post(address, json.dumps(body), content_type="application/json")
            assert error(response)[:3] == (401, "unauthorized", "volatile")
        assert fingerprints(house) == before

    def test_decisions_need_post(self, house: Storage, desk: MakeClient, api: ApiClient) -> None:
        cora, task = desk(user="cora"), open_task(house)
        for verb in VERBS:
            response = cora.get(f"rest/tasks/{task}/{verb}")
            assert (error(response)[0], response["Allow"]) == (405, "POST")
        response = api.delete(f"{API}/rest/tasks/{task}", token=cora.token)
        assert (error(response)[0], response["Allow"]) == (405, "GET, HEAD, POST")
        assert done(cora.get(f"rest/tasks/{task}"))["state"] == "open"
