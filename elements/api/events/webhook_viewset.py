"""Webhooks of a storage, for its administrators (D360 to D364)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from hashlib import blake2b
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.element_serializers import SuccessSerializer
from elements.api.events import webhook_serializers as bodies
from elements.api.query import QueryParameters
from elements.api.reading_viewset import ElementReadingViewSet
from elements.api.writing_viewset import success
from repository_site.core.problems import PreconditionFailed, Unreadable
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, listed, printable
from storage.api.conditional_requests import ANY, given_tags
from storage.api.viewset import KEPT_HEADERS, has_no_body
from storage.models import DeliveryState, Webhook
from storage.options import DEFAULT_OVERLAP, Role
from storage.webhooks.changing import (
    LONGEST_OVERLAP,
    IssuedSecret,
    change_webhook,
    create_webhook,
    delete_webhook,
    find_webhook,
    rotate_secret,
)
from storage.webhooks.deliveries import attempts_of, deliveries_of, redeliver, send_test
from storage.webhooks.documents import delivery_document, webhook_document

TAG = "webhooks"
FIRST = ApiVersions.up_to("1.0")


class WebhookViewSet(ElementReadingViewSet):
    @Operation(
        "listWebhooks",
        tag=TAG,
        summary="List webhooks",
        versions=FIRST,
        responses=bodies.WebhooksSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return all webhooks of the storage, oldest first. Requires the role Administrator."""
        self._begin(request)
        return answer(counted("values", [webhook_document(each, self._zone) for each in Webhook.objects.all()]))

    @Operation(
        "createWebhook",
        tag=TAG,
        summary="Create a webhook",
        versions=FIRST,
        parameters=bodies.ETAG,
        writes=True,
        tells_once=True,
        reads_without_body=True,
        body=bodies.NewWebhookSerializer,
        responses=bodies.WebhooksSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Create a webhook and return it with its secret, which is shown only this once.

        The receiver gets the events from now on, as signed requests (Standard Webhooks). A repeated request with the
        same Idempotency-Key gets the response without the secret. With an empty body this operation reads, as GET does.
        Requires the role Administrator.
        """
        self._begin(request)
        return self._answer_issued(create_webhook(self.storage, self.caller.label, _body(request)))

    @Operation(
        "getWebhook",
        tag=TAG,
        summary="Get a webhook",
        versions=FIRST,
        parameters=bodies.ETAG,
        body_hint="To change the webhook, send PATCH.",
        responses=bodies.WebhooksSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return one webhook. Requires the role Administrator."""
        self._begin(request)
        return self._answer_webhook(find_webhook(_id(names)))

    @Operation(
        "changeWebhook",
        tag=TAG,
        summary="Change a webhook",
        versions=FIRST,
        parameters=bodies.ETAG,
        writes=True,
        body=bodies.ChangedWebhookSerializer,
        responses=bodies.WebhooksSerializer,
    )
    def partial_update(self, request: Request, **names: str) -> HttpResponse:
        """Change the given fields and return the webhook; absent fields stay unchanged.

        A webhook that is enabled again gets the events that it has missed, as far as the change feed still has them.
        Requires the role Administrator.
        """
        self._begin(request)
        changed = change_webhook(self.storage, self.caller.label, _id(names), _body(request), self._precondition)
        return self._answer_webhook(changed)

    @Operation(
        "deleteWebhook",
        tag=TAG,
        summary="Delete a webhook",
        versions=FIRST,
        writes=True,
        responses=SuccessSerializer,
    )
    def destroy(self, request: Request, **names: str) -> HttpResponse:
        """Delete a webhook with its deliveries, including those that wait. Requires the role Administrator."""
        self._begin(request)
        delete_webhook(self.storage, _id(names), self._precondition)
        return success(f"The webhook {_id(names)} has been deleted.")

    @Operation(
        "testWebhook",
        tag=TAG,
        summary="Test a webhook",
        versions=FIRST,
        writes=True,
        tells_once=True,
        responses=bodies.WebhookDeliveriesSerializer,
    )
    def test_webhook(self, request: Request, **names: str) -> HttpResponse:
        """Send an event of the type `webhook.test` to the receiver, and return its delivery, which waits for a worker.

        Requires the role Administrator.
        """
        self._begin(request)
        delivery = send_test(self.storage, _id(names))
        return answer(counted("values", [delivery_document(delivery, [], self._zone)]))

    @Operation(
        "rotateWebhookSecret",
        tag=TAG,
        summary="Rotate the secret of a webhook",
        versions=FIRST,
        parameters=bodies.ETAG,
        writes=True,
        tells_once=True,
        body=bodies.RotationSerializer,
        responses=bodies.WebhooksSerializer,
    )
    def rotate_webhook_secret(self, request: Request, **names: str) -> HttpResponse:
        """Give a webhook a new secret and return it, only this once. The old one still signs until the overlap ends.

        Requires the role Administrator.
        """
        self._begin(request)
        most = LONGEST_OVERLAP // timedelta(hours=1)
        hours = _field(
            request, bodies.OVERLAP, lambda value: _is_number(value, most), f"a whole number from 0 to {most}"
        )
        overlap = DEFAULT_OVERLAP if hours is None else timedelta(hours=hours)
        issued = rotate_secret(self.storage, self.caller.label, _id(names), overlap, self._precondition)
        return self._answer_issued(issued)

    @Operation(
        "listWebhookDeliveries",
        tag=TAG,
        summary="List the deliveries of a webhook",
        versions=FIRST,
        parameters=bodies.DELIVERY_PAGES,
        responses=bodies.WebhookDeliveriesSerializer,
    )
    def list_webhook_deliveries(self, request: Request, **names: str) -> HttpResponse:
        """Return the deliveries of a webhook with their attempts, newest first, in pages.

        Requires the role Administrator.
        """
        self.caller.require_role(Role.ADMINISTRATOR)
        query = self.query(request)
        paging = query.page()
        state = query.text(bodies.STATE) or ""
        if state and state not in DeliveryState.values:
            expected = listed(DeliveryState.values, "or")
            query.problems.append(f"{bodies.STATE}: expected {expected}, not {printable(state, 40)!r}.")
        query.finish()
        found = deliveries_of(find_webhook(_id(names)), state)
        start = (paging.page - 1) * paging.size
        page = list(found[start : start + paging.size])
        attempts = attempts_of(page)
        response = answer(counted("values", [delivery_document(each, attempts[each.pk], self._zone) for each in page]))
        self.add_page_headers(response, paging.page, paging.size, found.count())
        return response

    @Operation(
        "redeliverToWebhook",
        tag=TAG,
        summary="Send messages to a webhook again",
        versions=FIRST,
        writes=True,
        body=bodies.RedeliverySerializer,
        responses=SuccessSerializer,
    )
    def redeliver_to_webhook(self, request: Request, **names: str) -> HttpResponse:
        """Send deliveries again, by default all dead letters. The messages keep their `webhook-id`.

        Requires the role Administrator.
        """
        self._begin(request)
        expected = f"a list of at most {bodies.MOST_DELIVERIES} ids of deliveries"
        ids = _field(request, bodies.DELIVERIES, _are_ids, expected)
        number = redeliver(self.storage, _id(names), None if ids is None else [UUID(each) for each in ids])
        return success("1 message is sent again." if number == 1 else f"{number} messages are sent again.")

    def kept_answer(self, response: HttpResponse) -> HttpResponse:
        """Return the response without the secret, which must not be kept in plain text."""
        document = orjson.loads(response.content)
        for each in document.get("values", ()):
            each.pop("secret", None)
        return answer(document, headers={name: response[name] for name in KEPT_HEADERS if name in response})

    def _begin(self, request: Request) -> None:
        self.caller.require_role(Role.ADMINISTRATOR)
        QueryParameters(request._request.GET, ()).finish()

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.storage.time_zone)

    def _precondition(self, webhook: Webhook) -> None:
        header = self.request.META.get("HTTP_IF_MATCH", ANY).strip()
        if header != ANY and _tag(webhook) not in given_tags(header, "If-Match"):
            raise PreconditionFailed("The webhook has changed since it was read; read it again.")

    def _answer_webhook(self, webhook: Webhook, secret: str = "") -> HttpResponse:
        values = [webhook_document(webhook, self._zone, secret)]
        return answer(counted("values", values), headers={"ETag": _tag(webhook)})

    def _answer_issued(self, issued: IssuedSecret) -> HttpResponse:
        return self._answer_webhook(issued.webhook, issued.secret)


def _tag(webhook: Webhook) -> str:
    parts = repr((webhook.pk, webhook.changed_on.timestamp(), webhook.is_enabled)).encode()
    return f'"{blake2b(parts, digest_size=8).hexdigest()}"'


def _id(names: dict[str, str]) -> str:
    if not GUID.fullmatch(names["webhookId"]):
        raise Unreadable(f"{printable(names['webhookId'], 80)!r} is not a GUID.")
    return names["webhookId"].lower()


def _body(request: Request) -> dict[str, Any]:
    """Return the object of the body, whose names and values the domain function checks."""
    found: Any = {} if has_no_body(request) else request.data
    if not isinstance(found, dict):
        raise Unreadable("The body must be a JSON object.")
    return found


def _field(request: Request, name: str, is_valid: Callable[[Any], bool], expected: str) -> Any:
    """Return the only field that a body can have; None if it is absent. All problems are reported at once."""
    given = _body(request)
    problems = [f"{printable(each, 40)}: unknown field; use {name}." for each in given if each != name]
    value = given.get(name)
    if value is not None and not is_valid(value):
        problems.append(f"{name}: expected {expected}.")
    if problems:
        raise Unreadable(problems[0] if len(problems) == 1 else f"{len(problems)} fields are invalid.", problems)
    return value


def _is_number(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _are_ids(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > bodies.MOST_DELIVERIES:
        return False
    return all(isinstance(each, str) and GUID.fullmatch(each) for each in value)
