"""The base of every operation of the API: context, api-version, caller, throttle, then the handler in its scope.

Subclasses only parse, call the domain and render. DRF's own dispatch is replaced by one that has no step we do not use.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, cast

import structlog
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from psycopg.errors import DeadlockDetected, QueryCanceled
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable
from rest_framework.request import Request
from rest_framework.views import APIView

from repository_site.core.client_network import client_network
from repository_site.core.database.statements import with_current_plans
from repository_site.core.problems import Busy, Forbidden, NotFound, Unauthenticated, Unreadable
from repository_site.core.rest.negotiation import accepts
from repository_site.core.rest.rendering import JSON_TYPE
from repository_site.core.rest.throttling import Throttle
from repository_site.core.rest.versioning import NAME as VERSION_HEADER
from repository_site.core.rest.versioning import ApiVersions
from storage.access.callers import Caller, CallerKind
from storage.api.authentication import authenticate, digest_in_header
from storage.idempotency import claim_key, keep_answer, request_digest
from storage.localisation.cultures import preferred_culture
from storage.models import Storage
from storage.models.roles import Role
from storage.tenancy.addresses import public_base
from storage.tenancy.contexts import Context, ContextType, find_context
from storage.tenancy.scope import tenant_scope

# How often a change is tried when it and another have waited for each other.
ATTEMPTS = 4
IN_USE = "Others are changing the same elements; send the request again."
TOO_LONG = (
    "This request takes too long: ask for less, by fewer or simpler conditions in $filter, a smaller page, or fewer"
    " resources."
)
KEY = re.compile(r"[\x21-\x7e]{1,255}")
KEPT_HEADERS = ("ETag",)
token_throttle = Throttle(settings.TOKEN_RATE)
anonymous_throttle = Throttle(settings.ANONYMOUS_RATE)


def throttle_address(request: HttpRequest) -> None:
    """Who is not known, or asks for what is not there, is counted by address: guessing must not be free."""
    anonymous_throttle.take(f"address:{client_network(request)}")


def throttle_caller(caller: Caller) -> None:
    throttle = anonymous_throttle if caller.kind is CallerKind.ANONYMOUS else token_throttle
    throttle.take(caller.throttle_key)


class Operation(APIView):
    """`operation_id` names it in the OpenAPI document; `contexts` says where it exists, elsewhere it is 404."""

    operation_id: ClassVar[str]
    versions: ClassVar[ApiVersions]
    writing_ids: ClassVar[Mapping[str, str]] = {}
    """The methods that write, with the names of these operations in the OpenAPI document."""
    writing_versions: ClassVar[ApiVersions | None] = None
    """Of the methods that write, where they have a label of their own."""
    reads_without_body: ClassVar[bool] = False
    """Where POST writes: whether one with an empty body reads (D2)."""
    speaks: ClassVar[bool] = False
    """Whether it looks at `Accept-Language`."""
    contexts: ClassVar[frozenset[ContextType]] = frozenset({ContextType.STORAGE})
    answers: ClassVar[tuple[str, ...]] = (JSON_TYPE,)
    """The media type of a success, then others that stand for it where a client asks for them. Errors are JSON (D3)."""
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    context: Context
    caller: Caller
    api_version: str = ""
    varies_by_language = False

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        try:
            response = self._run(self.request, **kwargs)
        except Forbidden as problem:
            # Only who is known can lack a permission; others lack a credential.
            is_anonymous = self.caller.kind is CallerKind.ANONYMOUS
            response = self.handle_exception(Unauthenticated(problem.message) if is_anonymous else problem)
        except Exception as error:
            response = self.handle_exception(error)
            if response.status_code == 405:
                response["Allow"] = ", ".join(self.allowed_methods)
        if self.api_version:
            response[VERSION_HEADER] = self.api_version
        if self.varies_by_language:
            patch_vary_headers(response, ["Accept-Language"])
        # What one caller may see is nobody else's: shared caches must not keep it, private ones must ask again.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    def _run(self, request: Request, collectionId: str, storageId: str, **names: str) -> HttpResponseBase:
        try:
            self.context = find_context(collectionId, storageId, digest_in_header(request))
        except NotFound:
            throttle_address(request._request)
            raise
        request._request.storage = self.context.storage  # type: ignore[attr-defined]  # storage.traffic counts for it
        structlog.contextvars.bind_contextvars(storage=self.context.path.strip("/"))
        if self.context.type not in self.contexts:
            raise NotFound("There is nothing at this address.")
        handler = getattr(self, str(request.method).lower(), None)
        if str(request.method).lower() not in self.http_method_names or handler is None:
            raise MethodNotAllowed(str(request.method))
        if not accepts(request.META.get("HTTP_ACCEPT", ""), self.answers):
            raise NotAcceptable
        versions = self.versions if request.method in ("GET", "HEAD") else self.writing_versions or self.versions
        self.api_version = versions.choose(request._request)
        try:
            self.caller = authenticate(request, self.context)
        except Unauthenticated:
            throttle_address(request._request)
            raise
        structlog.contextvars.bind_contextvars(caller=self.caller.label)
        throttle_caller(self.caller)
        if not self.caller.roles:
            raise Forbidden("This needs the permission ShowElement, which no role of the caller grants.")
        return self._answer(handler, request, **names)

    def _answer(self, handler: Any, request: Request, **names: str) -> HttpResponseBase:
        if self.context.storage is None:
            self.caller.require_role(Role.ADMINISTRATOR)
            response: HttpResponseBase = handler(request, **names)
            return response

        def work() -> HttpResponseBase:
            # One snapshot for a read: what one statement has found is still there for the next.
            with tenant_scope(self.storage, snapshot=self.only_reads, timeout=settings.STATEMENT_TIMEOUT):
                return cast("HttpResponseBase", handler(request, **names))

        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                return with_current_plans(work)
            except OperationalError as problem:
                is_cancelled = isinstance(problem.__cause__, QueryCanceled)
                if is_cancelled and self.only_reads:
                    raise Unreadable(TOO_LONG) from problem
                if not is_cancelled and not isinstance(problem.__cause__, DeadlockDetected):
                    raise
                if is_cancelled or not attempts_left:
                    raise Busy(IN_USE, retry_after=1) from problem
                time.sleep(random.uniform(0.01, 0.2))  # noqa: S311  not a secret
        raise AssertionError("the last attempt answers or raises")

    @property
    def only_reads(self) -> bool:
        if self.request.method != "POST":
            return self.request.method in ("GET", "HEAD")
        if "POST" in self.writing_ids:
            return self.reads_without_body and has_no_body(self.request)
        return hasattr(self, "read")

    def once(self, request: Request, change: Callable[[], HttpResponse]) -> HttpResponse:
        """What `change` answers; with an Idempotency-Key that was used before, what it answered then (D15)."""
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return change()
        if not KEY.fullmatch(key):
            raise Unreadable("The Idempotency-Key must be 1 to 255 visible ASCII characters.")
        plain = request._request
        parts = (str(plain.method), plain.path_info, plain.META.get("QUERY_STRING", ""), self.api_version)
        digest = request_digest(parts, plain.body)
        kept = claim_key(self.caller.label, key, digest, timezone.now())
        if kept is not None:
            return HttpResponse(kept.body, content_type=JSON_TYPE, headers=kept.headers)
        response = change()
        keep_answer(
            self.caller.label,
            key,
            response.content,
            {name: response[name] for name in KEPT_HEADERS if name in response},
        )
        return response

    @property
    def storage(self) -> Storage:
        """The storage of an operation that exists in storages only."""
        if self.context.storage is None:
            raise NotFound("There is nothing at this address.")
        return self.context.storage

    def named(self, names: dict[int, str], default: int) -> dict[str, object]:
        """The dictionary at 4.0, below it the one name the client's languages prefer (D5)."""
        if self.api_version == "4.0":
            return {"displayNames": names}
        self.varies_by_language = True
        accepted = self.request.headers.get("Accept-Language", "")
        return {"displayName": names[preferred_culture(accepted, tuple(names), default)]}

    @cached_property
    def base(self) -> str:
        """What every address in the answer starts with."""
        return public_base(self.request._request)

    @property
    def allowed_methods(self) -> list[str]:
        return sorted(name.upper() for name in self.http_method_names if hasattr(self, name))


def has_no_body(request: Request) -> bool:
    return request._request.body.strip() in (b"", b"{}")


class ReadOperation(Operation):
    """A read answers GET, HEAD and, since existing clients do that, POST with an empty body (D2)."""

    def get(self, request: Request, **names: str) -> HttpResponseBase:
        return self.read(request, **names)

    def head(self, request: Request, **names: str) -> HttpResponseBase:
        return self.read(request, **names)

    def post(self, request: Request, **names: str) -> HttpResponseBase:
        # Swallowing a body in silence would lose what somebody meant to write.
        if not has_no_body(request):
            raise Unreadable("This operation reads: send no body.")
        return self.read(request, **names)

    def read(self, request: Request, **names: str) -> HttpResponseBase:
        """`names` are the parts of the address after the context."""
        raise NotImplementedError
