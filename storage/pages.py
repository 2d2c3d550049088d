"""Shared code of the pages of a storage: storage and caller of the request, the tenant scope, and error pages.

`StoragePathMiddleware` moves the storage of the address into the script prefix: every link of a page stays inside its
storage, and two browser tabs can show two tenants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.contrib.messages.storage import default_storage
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from psycopg.errors import DeadlockDetected, LockNotAvailable, QueryCanceled

from repository_site.core.database.held_connections import hold_connection
from repository_site.core.database.pool import release_connection
from repository_site.core.database.repeating import repeated
from repository_site.core.fairness.admission import between_attempts, read_timeout, too_expensive
from repository_site.core.fairness.origin import anonymous_was_allowed, credential_was_accepted
from repository_site.core.problems import Busy, NotFound, Problem, TooManyRequests, Unauthenticated
from repository_site.core.rest.errors import status_of
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.streamed_response import StreamedResponse
from storage.access.callers import Caller, anonymous_reader, narrow_to
from storage.access.staff import staff_caller
from storage.models import AnonymousAccess, Storage
from storage.tenancy.addresses import public_base
from storage.tenancy.contexts import Context, ContextType
from storage.tenancy.scope import tenant_scope

# Shown after a lock conflict or a statement timeout; the transaction is rolled back.
IN_USE = gettext_noop("This took too long, or others are changing the same data. Try again.")
View = Callable[..., HttpResponseBase]


def storage_of(request: HttpRequest) -> Storage:
    return cast("Storage", request.storage)  # type: ignore[attr-defined]  # set by StoragePathMiddleware


def context_of(request: HttpRequest) -> Context:
    storage = storage_of(request)
    return Context(ContextType.STORAGE, storage.collection, storage)


def storage_address(request: HttpRequest) -> str:
    """Return scheme, host and path of the storage, the start of addresses in API responses."""
    return f"{public_base(request)}{context_of(request).path}"


def page_caller(request: HttpRequest) -> Caller | None:
    """Return the caller of a page: staff of the storage, else the anonymous reader if the storage allows that."""
    if not hasattr(request, "page_caller"):
        caller = staff_caller(request.user, storage_of(request))
        if caller is not None:
            credential_was_accepted(request, caller.label)
            structlog.contextvars.bind_contextvars(caller=caller.label)
        if caller is None and storage_of(request).anonymous_access == AnonymousAccess.READ:
            caller = anonymous_reader(request)
            anonymous_was_allowed(request)
        request.page_caller = caller  # type: ignore[attr-defined]  # one lookup per request
    return cast("Caller | None", request.page_caller)  # type: ignore[attr-defined]


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller of a page that requires one."""
    caller = page_caller(request)
    if caller is None:
        raise Unauthenticated("Sign in to see this page.")
    return caller


class ReadPage(TemplateResponse):
    """A page whose data is complete. It is rendered after its transaction, without a database connection (D183)."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a `ReadPage`, which is rendered with it. Values that take time are functions in its context."""

    template: str
    context: Mapping[str, Any]
    request: HttpRequest

    def __str__(self) -> str:
        return render_to_string(self.template, dict(self.context), self.request)


def in_scope(view: View, *, snapshot: bool = False) -> View:
    """Run a page inside the tenant scope, in one transaction that any problem rolls back.

    The page is rendered inside as well, because forms and lists of Django read while they are rendered; a `ReadPage` is
    rendered afterwards. Times are shown and entered in the time zone of the storage. With `snapshot` the page reads one
    read-only snapshot.
    """

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        storage = storage_of(request)
        timeout = read_timeout(request) if snapshot else settings.STATEMENT_TIMEOUT

        def work() -> HttpResponseBase:
            with ExitStack() as scope:
                scope.enter_context(tenant_scope(storage, snapshot=snapshot, timeout=timeout))
                narrow_to(storage, partial(page_caller, request))
                response = view(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse) and not isinstance(response, ReadPage):
                    response.render()
                if isinstance(response, StreamedResponse):
                    response.keep_open(scope.pop_all(), hold_connection())
            return response

        try:
            with timezone.override(storage.time_zone):
                response = repeated(work, partial(_between_attempts, request))
                if isinstance(response, ReadPage | LateResponse):
                    release_connection()
                    response.render() if isinstance(response, ReadPage) else response.complete()
        except Problem as problem:
            response = problem_page(request, problem)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled | DeadlockDetected | LockNotAvailable):
                raise
            is_shortened = timeout < settings.STATEMENT_TIMEOUT and isinstance(error.__cause__, QueryCanceled)
            refusal = TooManyRequests(_(IN_USE), too_expensive(request).retry_after) if is_shortened else None
            response = problem_page(request, refusal or Busy(_(IN_USE), retry_after=1))
        patch_cache_control(response, private=True, no_cache=True)
        return response

    return inner


@contextmanager
def _between_attempts(request: HttpRequest) -> Iterator[None]:
    """Forget the messages of the failed attempt, including those that it has already shown."""
    with between_attempts(request):
        yield
    if hasattr(request, "_messages"):
        request._messages = default_storage(request)


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponseBase:
    """Return the error page of a problem. Anonymous callers without access are asked to sign in."""
    if isinstance(problem, Unauthenticated):
        return ask_to_sign_in(request)
    status = status_of(problem)
    context = {"problem": problem, "storage": storage_of(request), "status": status}
    response = render(request, "problem.html", context, status=status)
    if isinstance(problem, TooManyRequests | Busy):
        response["Retry-After"] = str(problem.retry_after)
    return response


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page; signed-in staff of other storages get 404 (D3)."""
    if request.user.is_authenticated:
        problem = NotFound(_("There is no storage at this address, or you are not a member of it."))
        return cast("HttpResponse", problem_page(request, problem))
    return redirect_to_login(request.get_full_path(), reverse("admin:login"))
