"""What every page for people inside a storage shares: its storage and caller, the tenant scope, and problems as pages.

The address of a page begins with its storage, which `StoragePathMiddleware` has moved into the script prefix: whatever
link a page makes stays inside that storage, and two tabs can hold two tenants.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from psycopg.errors import DeadlockDetected, QueryCanceled

from repository_site.core.database.statements import with_current_plans
from repository_site.core.problems import Busy, NotFound, Problem, TooManyRequests, Unauthenticated
from repository_site.core.rest.errors import status_of
from storage.access.callers import Caller, anonymous_reader
from storage.access.staff import staff_caller
from storage.models import AnonymousAccess, Storage
from storage.tenancy.addresses import public_base
from storage.tenancy.contexts import Context, ContextType
from storage.tenancy.scope import tenant_scope

# Somebody else holds what is asked for, or it takes too long; the transaction has been undone.
IN_USE = gettext_noop("This takes too long, or others are changing the same things now. Try again.")
View = Callable[..., HttpResponseBase]


def storage_of(request: HttpRequest) -> Storage:
    """The storage whose page is asked for."""
    return cast("Storage", request.storage)  # type: ignore[attr-defined]  # set by StoragePathMiddleware


def context_of(request: HttpRequest) -> Context:
    storage = storage_of(request)
    return Context(ContextType.STORAGE, storage.collection, storage)


def storage_address(request: HttpRequest) -> str:
    """Scheme, host and path of the storage, as addresses in answers of the API begin."""
    return f"{public_base(request)}{context_of(request).path}"


def page_caller(request: HttpRequest) -> Caller | None:
    """Who looks at a page: staff who belong to the storage, else anybody where the storage lets anybody read."""
    if not hasattr(request, "page_caller"):
        caller = staff_caller(request.user, storage_of(request))
        if caller is None and storage_of(request).anonymous_access == AnonymousAccess.READ:
            caller = anonymous_reader(request)
        request.page_caller = caller  # type: ignore[attr-defined]  # one look-up a request
    return cast("Caller | None", request.page_caller)  # type: ignore[attr-defined]


def caller_of(request: HttpRequest) -> Caller:
    """The caller of a page that is shown to nobody without one."""
    caller = page_caller(request)
    if caller is None:
        raise Unauthenticated("Sign in to see this page.")
    return caller


def in_scope(view: View, *, snapshot: bool = False) -> View:
    """Runs a page wholly inside the tenant scope: one transaction, rendered before it ends, undone by any problem.
    Moments are shown and typed in the storage's time zone.

    With `snapshot` the page only reads, and all of it from one state of the storage.
    """

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        storage = storage_of(request)

        def work() -> HttpResponseBase:
            with (
                timezone.override(storage.time_zone),
                tenant_scope(storage, snapshot=snapshot, timeout=settings.STATEMENT_TIMEOUT),
            ):
                response = view(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()
            return response

        try:
            response = with_current_plans(work)
        except Problem as problem:
            response = problem_page(request, problem)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled | DeadlockDetected):
                raise
            response = problem_page(request, Busy(_(IN_USE), retry_after=1))
        patch_cache_control(response, private=True, no_cache=True)
        return response

    return inner


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponseBase:
    """What cannot be done, as a page. Who is not signed in and lacks something is asked to."""
    if isinstance(problem, Unauthenticated):
        return ask_to_sign_in(request)
    status = status_of(problem)
    context = {"problem": problem, "storage": storage_of(request), "status": status}
    response = render(request, "problem.html", context, status=status)
    if isinstance(problem, TooManyRequests | Busy):
        response["Retry-After"] = str(problem.retry_after)
    return response


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Staff of other storages are signed in already: for them nothing is here (D3)."""
    if request.user.is_authenticated:
        problem = NotFound(_("There is no storage at this address that you belong to."))
        return cast("HttpResponse", problem_page(request, problem))
    return redirect_to_login(request.get_full_path(), reverse("admin:login"))
