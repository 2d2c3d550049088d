"""Requests of directories: their token and their limits (D540, D541)."""

from __future__ import annotations

import structlog
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from psycopg.errors import DeadlockDetected, LockNotAvailable, QueryCanceled

from repository_site.core.fairness.origin import credential_was_accepted, storage_was_found
from repository_site.core.problems import Busy, NotFound, Problem, TooLarge, Unauthenticated
from repository_site.core.rest.errors import problem_answer
from storage.access.tokens import REFUSED, recognised
from storage.api.throttling import throttle_address, throttle_caller
from storage.models import IdentityProvider
from storage.tenancy.addresses import ADMINISTRATION_KEY
from storage.tenancy.contexts import find_context

LONGEST_BODY = 1024 * 1024
IN_USE = "The data is in use by another request. Try again shortly."


@csrf_exempt
def scim_request(request: HttpRequest, collection_id: str, place: str | None = None) -> HttpResponse:
    try:
        provider = _provider(request, collection_id)
        if len(request.body) > LONGEST_BODY:
            raise TooLarge(f"The request body is larger than {LONGEST_BODY} bytes.")
        from storage.scim.protocol import Exchange

        exchange = Exchange(request, provider, [part for part in (place or "").split("/") if part])
        return exchange.answer()
    except Problem as problem:
        return problem_answer(problem)
    except OperationalError as problem:
        if isinstance(problem.__cause__, QueryCanceled | DeadlockDetected | LockNotAvailable):
            return problem_answer(Busy(IN_USE, retry_after=1))
        raise


def _provider(request: HttpRequest, collection_id: str) -> IdentityProvider:
    """Return the provider whose directory sends a request. A wrong token is refused alike in every collection."""
    try:
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not value.strip():
            raise Unauthenticated("This needs a credential. Send the SCIM token: Authorization: Bearer <token>.")
        context = find_context(collection_id, ADMINISTRATION_KEY)
        address = request.META.get("REMOTE_ADDR", "")
        token, caller = recognised(value.strip(), context, address, is_for_directory=True)
        provider = token.provider
        if provider is None or not provider.is_enabled or provider.collection != context.collection:
            raise Unauthenticated(REFUSED)
    except (NotFound, Unauthenticated) as problem:
        throttle_address(request)
        raise (problem if isinstance(problem, Unauthenticated) else Unauthenticated(REFUSED)) from None
    storage_was_found(request)
    credential_was_accepted(request, caller.label)
    structlog.contextvars.bind_contextvars(caller=caller.label, provider=provider.key)
    throttle_caller(caller)
    return provider
