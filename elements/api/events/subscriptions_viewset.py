"""Subscriptions to an element: list, subscribe, unsubscribe (D376)."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.events.subscription_serializers import NewSubscriptionSerializer, SubscribersSerializer
from elements.api.query import Paging
from elements.api.query_parameters import PAGES
from elements.api.reading_viewset import ElementReadingViewSet
from elements.people.subscriptions import read_subscribers, subscribe, unsubscribe
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api.viewset import has_no_body

SUBTREE = "subtree"


class SubscriptionsViewSet(ElementReadingViewSet):
    @Operation(
        "listSubscribers",
        tag="changes",
        summary="List the subscribers of an element",
        versions=ApiVersions.up_to("1.0"),
        uses_language=True,
        parameters=PAGES,
        responses=SubscribersSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return the people who have subscribed to the element, oldest first. Viewers see only themselves.

        Without `$page` and `$pageSize`, the response has all of them.
        """
        query = self.query(request)
        paging = query.paging()
        query.finish()
        return self._answer_list(request, UUID(self.element(names["elementId"]).element), paging)

    @Operation(
        "subscribe",
        tag="changes",
        summary="Subscribe to an element",
        versions=ApiVersions.up_to("1.0"),
        writes=True,
        uses_language=True,
        body=NewSubscriptionSerializer,
        responses=SubscribersSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Subscribe the caller to the element, and with `subtree` to everything below it. The body is optional.

        The caller must be a person: a user, or a signed-in account. Subscribing again changes the subscription.
        """
        element = self._element(request, names)
        subscribe(self.caller, element, is_subtree=_is_subtree(request))
        return self._answer_list(request, element)

    @Operation(
        "unsubscribe",
        tag="changes",
        summary="Unsubscribe from an element",
        versions=ApiVersions.up_to("1.0"),
        writes=True,
        uses_language=True,
        responses=SubscribersSerializer,
    )
    def destroy(self, request: Request, **names: str) -> HttpResponse:
        """End the caller's subscription to the element, if there is one.

        People can also unsubscribe from an element that they cannot see any more; the list is then empty.
        """
        try:
            element = self._element(request, names)
        except NotFound:
            if not unsubscribe(self.caller, UUID(names["elementId"])):
                raise
            return answer(counted("values", []))
        unsubscribe(self.caller, element)
        return self._answer_list(request, element)

    def _element(self, request: Request, names: dict[str, str]) -> UUID:
        self.query(request).finish()
        return UUID(self.element(names["elementId"]).element)

    def _answer_list(self, request: Request, element: UUID, paging: Paging | None = None) -> HttpResponse:
        self.varies_by_language = True
        start = (paging.page - 1) * paging.size if paging else 0
        page = slice(start, start + paging.size) if paging else slice(None)
        language = request.headers.get("Accept-Language", "")
        found, total = read_subscribers(self.storage, self.caller, element, language, page)
        values = [
            {
                "name": each.name,
                **({"userId": str(each.user)} if each.user else {}),
                SUBTREE: each.is_subtree,
                "since": wire_datetime(each.since, self.reader.zone),
            }
            for each in found
        ]
        response = answer(counted("values", values))
        if paging:
            self.add_page_headers(response, paging.page, paging.size, total)
        return response


def _is_subtree(request: Request) -> bool:
    if has_no_body(request):
        return False
    given = request.data
    value = given.get(SUBTREE, False) if isinstance(given, dict) and set(given) <= {SUBTREE} else None
    if not isinstance(value, bool):
        raise Unreadable('The body must be empty or an object such as {"subtree": true}.')
    return value
