"""A page whose transaction is repeated shows what the last attempt tells (D308)."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from django.contrib import messages
from django.contrib.messages.storage import default_storage
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from repository_site.core.database.commits import ShardMoved
from storage import pages
from storage.models import Storage

pytestmark = pytest.mark.django_db


@pytest.fixture
def request_of_page(rf: RequestFactory, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> HttpRequest:
    """A request after a page that has left a message for the next one."""
    monkeypatch.setattr(pages, "between_attempts", nullcontext)
    request: HttpRequest = rf.get("/")
    request.storage = storage  # type: ignore[attr-defined]  # as StoragePathMiddleware does
    request.session = {}  # type: ignore[assignment]  # nothing else of a session is needed
    earlier = default_storage(request)
    earlier.add(messages.INFO, "Deleted.")
    earlier.update(HttpResponse())
    request._messages = default_storage(request)  # type: ignore[attr-defined]  # as the middleware of Django does
    return request


def test_messages_that_a_failed_attempt_has_shown_are_shown_once(request_of_page: HttpRequest) -> None:
    shown: list[list[str]] = []

    def view(request: HttpRequest) -> HttpResponse:
        messages.info(request, "Saved.")
        shown.append([str(each) for each in messages.get_messages(request)])
        if len(shown) < 3:
            raise ShardMoved("the query contains a join that requires repartitioning")
        return HttpResponse()

    assert pages.in_scope(view)(request_of_page).status_code == 200
    assert shown == [["Deleted.", "Saved."]] * 3


def test_messages_that_a_failed_attempt_has_shown_are_not_lost(request_of_page: HttpRequest) -> None:
    """The last attempt shows no page, such as a redirect, so that the next page shows them."""
    attempts = []

    def view(request: HttpRequest) -> HttpResponse:
        attempts.append(request)
        if len(attempts) == 1:
            list(messages.get_messages(request))
            raise ShardMoved("the query contains a join that requires repartitioning")
        messages.info(request, "Saved.")
        return HttpResponse(status=302)

    response = pages.in_scope(view)(request_of_page)
    request_of_page._messages.update(response)  # type: ignore[attr-defined]
    assert [str(each) for each in default_storage(request_of_page)] == ["Deleted.", "Saved."]
