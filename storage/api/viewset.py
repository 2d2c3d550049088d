"""The base of every viewset of the API: the steps that all operations share.

Context, method, media type, api-version, caller, throttle, tenant scope, retries, idempotency and conditional reads, in
this order. It replaces DRF's own dispatch, which has steps that this API does not need.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, cast

import structlog
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.functional import cached_property
from psycopg.errors import DeadlockDetected, LockNotAvailable, QueryCanceled
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from repository_site.core.database import replica
from repository_site.core.database.held_connections import hold_connection
from repository_site.core.database.pool import release_connection
from repository_site.core.database.repeating import repeated
from repository_site.core.database.statements import Inquiry, engine
from repository_site.core.fairness.admission import between_attempts, read_timeout, too_expensive
from repository_site.core.fairness.origin import anonymous_was_allowed, credential_was_accepted
from repository_site.core.problems import Busy, Forbidden, NotFound, Unauthenticated, Unreadable
from repository_site.core.rest.errors import AWAY
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.negotiation import accepts
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import JSON_TYPE, to_json
from repository_site.core.rest.streamed_response import StreamedResponse
from repository_site.core.rest.versioning import NAME as VERSION_HEADER
from storage.access.callers import UNLIMITED, Caller, CallerKind, narrow_to
from storage.access.token_addresses import note_address
from storage.api.authentication import authenticate, digest_in_header
from storage.api.conditional_requests import WEAK, Prepared, asks_for_any, is_known, not_modified, without_body
from storage.api.cross_origin import is_preflight, preflight_response
from storage.api.moments import AS_OF, moment_of, require_record
from storage.api.preferences import accepts_replica, prefers_minimal
from storage.api.throttling import throttle_address, throttle_caller
from storage.idempotency import claim_key, keep_answer, request_digest
from storage.localisation.cultures import preferred_culture
from storage.models import Storage
from storage.options import Role
from storage.quotas import note_bytes
from storage.tenancy.addresses import public_base
from storage.tenancy.contexts import Context, ContextChanged, ContextType, find_context, recall_context
from storage.tenancy.scope import StorageGone, read_as_of, tenant_scope

IN_USE = "Other requests are changing the same elements; send the request again."
TOO_LONG = (
    "The request takes too long. Ask for less: fewer or simpler conditions in $filter, a smaller page, or fewer"
    " resources."
)
NAMELESS = (
    "A query parameter has no name. Put the address in single quotes, so that the shell keeps names such as $select:"
    " '...?$select=name'."
)
NO_ROLE = "This requires the permission ShowElement, which no role of the caller grants."
KEY = re.compile(r"[\x21-\x7e]{1,255}")
# Tells a client that a response has no body or identities only, or comes from the replica (RFC 7240).
APPLIED, MINIMAL = "Preference-Applied", "return=minimal"
KEPT_HEADERS = ("ETag", "Location", APPLIED)
# The status, stored with the headers if it is not 200. No header has a colon in its name.
KEPT_STATUS = ":status"
STORAGES = frozenset({ContextType.STORAGE})
EVERYWHERE = frozenset(ContextType)


class ApiViewSet(ViewSet):
    """Viewsets map methods to actions in their urls. Each action is decorated with its `Operation`."""

    id_suffix: ClassVar[str] = ""
    """Distinguishes the operation ids of a second address of the same actions."""
    recalls_contexts: ClassVar[bool] = True
    """Whether requests can begin again if their context has changed (D589)."""

    operation: Operation
    context: Context
    is_confirmed: bool
    """Whether the context was read, and not only recalled (D589)."""
    caller: Caller
    counted_for: str = ""
    """The caller whose rate limit the request counts for already."""
    api_version: str = ""
    varies_by_language = False
    must_tell = False
    """Whether this response tells something that no read tells again."""
    has_created = False
    """Whether the request has created the resource in `Location`."""
    timeout: int
    """Seconds that a statement of the request may take."""
    moment: datetime | None = None
    """Time whose content the request reads; None for that of today (D563)."""
    content_state: str = ""
    """State of the content in the snapshot. Looking it up takes a statement, so only conditional reads have it."""
    primary_state: tuple[str, int] | None = None
    """State of content and configuration at the primary, which the replica must have to answer the request (D238)."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        # DRF's request would first look for them in itself, a dozen times a request.
        self.request.META, self.request.method = request.META, request.method
        try:
            response = self._run(self.request, **kwargs)
        except Forbidden as problem:
            # Authenticated callers get 403, anonymous callers 401.
            caller = getattr(self, "caller", None)
            is_anonymous = caller is not None and caller.kind is CallerKind.ANONYMOUS
            response = self.handle_exception(Unauthenticated(problem.message) if is_anonymous else problem)
        except Exception as error:
            response = self.handle_exception(error)
            if response.status_code == 405:
                response["Allow"] = ", ".join(self.allowed_methods)
        if self.api_version:
            response[VERSION_HEADER] = self.api_version
        if self.varies_by_language:
            patch_vary_headers(response, ["Accept-Language"])
        self._break_cycles()
        # Responses depend on the caller: shared caches must not store them, private caches must revalidate them.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    def _break_cycles(self) -> None:
        """Remove what DRF keeps in request and view of the view itself (D211). The body has been parsed by now."""
        self.request.parser_context = {}
        for method in self.action_map:
            self.__dict__.pop(method, None)

    def _run(self, request: Request, collectionId: str, storageId: str, **names: str) -> HttpResponseBase:
        digest = digest_in_header(request)
        recalled = recall_context(collectionId, storageId, digest) if self.recalls_contexts else None
        if recalled is not None:
            try:
                return self._run_in(recalled, request, **names)
            except (Busy, *AWAY):
                raise  # the context is not the reason, and the client has waited long enough
            except Exception:
                if self.is_confirmed:
                    raise
        try:
            found = find_context(collectionId, storageId, digest)
        except NotFound:
            throttle_address(request._request)
            raise
        return self._run_in(found, request, **names)

    def _run_in(self, context: Context, request: Request, **names: str) -> HttpResponseBase:
        self.context, self.is_confirmed = context, context.unconfirmed is None
        request._request.storage = self.context.storage  # type: ignore[attr-defined]  # storage.traffic counts for it
        structlog.contextvars.bind_contextvars(storage=self.context.path.strip("/"))
        action = self.action_map.get(str(request.method).lower())
        self.operation = self._operation_of(action or next(iter(self.action_map.values())))
        if self.context.type not in (self.operation.contexts or STORAGES):
            raise NotFound("There is nothing at this address.")
        if action is None:
            if self.is_confirmed and is_preflight(request._request, context.storage):
                throttle_address(request._request)
                return preflight_response(self.allowed_methods)
            raise MethodNotAllowed(str(request.method))
        if not accepts(request.META.get("HTTP_ACCEPT", ""), self.media_types(request)):
            raise NotAcceptable
        self.api_version = self.operation.versions.choose(request._request)
        try:
            self.caller = authenticate(request, self.context)
        except (Unauthenticated, Forbidden):
            if self.is_confirmed:
                throttle_address(request._request)
            raise
        structlog.contextvars.bind_contextvars(caller=self.caller.label)
        if self.caller.kind is CallerKind.ANONYMOUS:
            anonymous_was_allowed(request._request)
        else:
            credential_was_accepted(request._request, self.caller.label)
        if self.counted_for != self.caller.label:
            throttle_caller(self.caller)
            self.counted_for = self.caller.label
        if self.operation.reads_without_body and has_no_body(request):
            self.action = self.action_map["get"]
            self.operation = self._operation_of(self.action)
        self.require_access()
        return self._answer(request, **names)

    def require_access(self) -> None:
        """Refuse callers without a role, and operations beyond the scope of a token (D489)."""
        if not self.caller.roles:
            raise Forbidden(NO_ROLE)
        if self.caller.scope is not UNLIMITED:
            self.caller.scope.require(self.operation, is_in_facet="facetId" in self.kwargs)

    def media_types(self, request: Request) -> tuple[str, ...]:
        """Return the media type of the response, then others that `Accept` may name instead."""
        return self.operation.media_types

    def _operation_of(self, action: str) -> Operation:
        return cast("Operation", getattr(self, action).operation)

    def _answer(self, request: Request, **names: str) -> HttpResponseBase:
        if self.context.storage is None:
            self.caller.require_role(Role.ADMINISTRATOR)
            return self._perform(request, names)
        only_reads = not self.operation.writes
        timeout = read_timeout(request._request) if only_reads else settings.STATEMENT_TIMEOUT
        self.timeout = timeout
        self.moment = moment_of(request, self.operation, self.storage)

        def work() -> HttpResponseBase:
            # One snapshot for all statements of a read.
            with ExitStack() as scope:
                asked, confirm = self._asked_first(request, names)
                scope.enter_context(
                    tenant_scope(self.storage, snapshot=only_reads, timeout=timeout, inquiry=asked, as_of=self.moment)
                )
                confirm()
                if self.moment:
                    require_record(AS_OF, self.moment)
                self._narrow(asked)
                self.begin_attempt()
                response = self._perform(request, names)
                if isinstance(response, StreamedResponse):
                    response.keep_open(scope.pop_all(), hold_connection())
                return response

        try:
            response = self._from_replica(request, work) or repeated(work, partial(between_attempts, request._request))
        except OperationalError as problem:
            if isinstance(problem.__cause__, QueryCanceled) and only_reads:
                is_shortened = timeout < settings.STATEMENT_TIMEOUT
                raise too_expensive(request._request) if is_shortened else Unreadable(TOO_LONG) from problem
            if isinstance(problem.__cause__, QueryCanceled | DeadlockDetected | LockNotAvailable):
                raise Busy(IN_USE, retry_after=1) from problem
            raise
        if isinstance(response, LateResponse):
            release_connection()
            response.complete()
        return response

    def _asked_first(self, request: Request, names: dict[str, str]) -> tuple[Inquiry | None, Callable[[], None]]:
        """Return the questions for the trip that enters the scope, and a function that raises if the answers do not
        confirm the context."""
        asked, question = self.first_questions(request, names), self.context.unconfirmed
        if question is None:
            return asked, lambda: None
        asked = asked or Inquiry()
        answer = asked.add_beside(question)

        def confirm() -> None:
            if not answer():
                self.is_confirmed = False  # perhaps an earlier attempt was, before a deadlock
                raise ContextChanged
            if not self.is_confirmed and self.context.token is not None:
                note_address(self.context.token.id, request.META.get("REMOTE_ADDR", ""))
            self.is_confirmed = True

        return asked, confirm

    def _narrow(self, asked: Inquiry | None) -> None:
        """Hide what the caller must not see, and read again what was read before the limits were known (D491). Changes
        need the whole content, so they do not read it again. The limits are those of today (D565)."""
        with read_as_of(None) if self.moment else nullcontext():
            is_limited = narrow_to(self.storage, lambda: self.caller)
        if is_limited and asked is not None and not self.operation.writes:
            asked.ask_limited_again()

    def _from_replica(self, request: Request, work: Callable[[], HttpResponseBase]) -> HttpResponseBase | None:
        """Return the response of the replica; None if the primary must answer.

        The replica answers only if it has exactly the content and the configuration that the primary has now. So no
        client sees less than its own changes, whichever server made them, and no client has to remember anything.
        """
        if not (replica.has_replica() and self.operation.is_conditional and accepts_replica(request)):
            return None
        with tenant_scope(self.storage, as_of=self.moment):
            self._narrow(None)
            self.begin_conditional_read()
        if not self.content_state:
            return None
        self.primary_state = self.content_state, self.storage.configuration_revision
        release_connection()
        try:
            with replica.reading_from_replica():
                response = repeated(work)
        except (replica.ReplicaBehind, replica.ReplicaUnavailable, StorageGone) as problem:
            self.primary_state = None
            replica.count_outcome("unavailable" if isinstance(problem, replica.ReplicaUnavailable) else "behind")
            return None
        replica.count_outcome("answered")
        response[APPLIED] = replica.PREFERENCE
        return response

    def check_replica(self) -> None:
        """Raise if the snapshot is of a replica that does not have the state of the primary."""
        if self.primary_state not in (None, (self.content_state, self.storage.configuration_revision)):
            raise replica.ReplicaBehind

    def _perform(self, request: Request, names: dict[str, str]) -> HttpResponseBase:
        action: Any = getattr(self, self.action)
        if "" in request._request.GET:
            raise Unreadable(NAMELESS)
        if self.operation.writes:
            change = partial(action, request, **names)
            # Administrative contexts keep no responses; a storage keeps the response to its own provisioning (D583).
            return change() if self.context.storage is None else self.once(self.context.storage, request, change)
        # Ignoring a body silently would lose a change that the client meant to make.
        if request.method == "POST" and self.operation.body is None and not has_no_body(request):
            raise Unreadable(f"This operation only reads and takes no body. {self.operation.body_hint}".strip())
        if self.operation.is_conditional:
            return self._read_conditionally(request, lambda: action(request, **names))
        return cast("HttpResponseBase", action(request, **names))

    def once(self, storage: Storage, request: Request, change: Callable[[], HttpResponse]) -> HttpResponse:
        """Make a change and return its response, or repeat the response of the same Idempotency-Key (D15).

        Runs inside the scope of the storage, which keeps the response.
        """
        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is None:
            return self._minimal(request, change())
        if not KEY.fullmatch(key):
            raise Unreadable("Idempotency-Key: expected 1 to 255 visible ASCII characters.")
        plain = request._request
        # A response must not show what the caller has lost sight of since (D491).
        hidden = [engine().hidden] if engine().hidden else []
        parts = (str(plain.method), plain.path_info, plain.META.get("QUERY_STRING", ""), self.api_version, *hidden)
        digest = request_digest(parts, self.body_of(request))
        note = partial(note_bytes, storage)
        kept = claim_key(note, self.caller.label, key, digest, timezone.now())
        if kept is not None:
            status = int(kept.headers.pop(KEPT_STATUS, HTTPStatus.OK))
            response = HttpResponse(kept.body, content_type=JSON_TYPE, status=status, headers=kept.headers)
            return response if kept.body else without_body(response)
        response = self._minimal(request, change())
        is_short = len(response.content) <= settings.KEPT_RESPONSE_BYTES
        short = response
        if response.content:
            short = self.kept_answer(response) if is_short else self.reduced_answer()
        headers = {name: short[name] for name in KEPT_HEADERS if name in short}
        headers |= {KEPT_STATUS: str(short.status_code)} if short.status_code != HTTPStatus.OK else {}
        keep_answer(note, self.caller.label, key, short.content, headers)
        return response

    def _minimal(self, request: Request, response: HttpResponse) -> HttpResponse:
        """Return the response to a change without its body, if the client prefers that (D575)."""
        must_tell = self.must_tell or self.operation.tells_once
        if must_tell or response.status_code != HTTPStatus.OK or not prefers_minimal(request):
            return response
        kept = {name: response[name] for name in KEPT_HEADERS if name in response}
        status = HTTPStatus.CREATED if self.has_created else HTTPStatus.NO_CONTENT
        return without_body(HttpResponse(status=status, headers={**kept, APPLIED: MINIMAL}))

    def body_of(self, request: Request) -> bytes:
        """Return what distinguishes the body of a request from others with the same Idempotency-Key."""
        return request._request.body

    def kept_answer(self, response: HttpResponse) -> HttpResponse:
        """Return the form of a response that answers the same Idempotency-Key again."""
        return response

    def reduced_answer(self) -> HttpResponse:
        """Return a short form of the response to a change: it replaces one that is too large to send or to keep."""
        message = "The change was made. Its response is too large; read the resource again."
        response = HttpResponse(to_json({"message": message, "output": "volatile", "type": "success"}), JSON_TYPE)
        response[APPLIED] = MINIMAL
        return response

    def _read_conditionally(self, request: Request, prepare: Callable[[], Prepared]) -> HttpResponseBase:
        """Validate the read before looking at entity tags: 304 must not tell more than a plain read does."""
        self.begin_conditional_read()
        self.check_replica()
        prepared = prepare()
        tag = self._entity_tag(prepared)
        if is_known(request, tag):
            return not_modified(tag)
        response = prepared.answer()
        if asks_for_any(request):
            # Only now is it certain that the resource exists.
            return not_modified(tag)
        response["ETag"] = tag
        return response

    def _entity_tag(self, prepared: Prepared) -> str:
        if prepared.version_tag:
            return f'{prepared.version_tag[:-1]}.{self.state_digest(8)}"'
        tag = f'"{self.state_digest(16)}"'
        return WEAK + tag if prepared.is_whole else tag

    def begin_attempt(self) -> None:
        """Forget everything that an earlier attempt has read, in another snapshot. Called in the scope."""

    def first_questions(self, request: Request, names: dict[str, str]) -> Inquiry | None:
        """Return what the operation asks first in any case, to be sent with the statement that enters the scope."""
        return None

    def begin_conditional_read(self) -> None:
        """Look up the state that `state_digest` needs. Called in the snapshot, and again for every attempt."""
        raise NotImplementedError

    def state_digest(self, size: int) -> str:
        """Return a digest of everything that the response of a conditional read depends on."""
        raise NotImplementedError

    @property
    def storage(self) -> Storage:
        """The storage of an operation that exists in storages only."""
        if self.context.storage is None:
            raise NotFound("There is nothing at this address.")
        return self.context.storage

    def named(self, names: dict[int, str], default: int) -> dict[str, object]:
        """Return all names in 4.0, and before 4.0 one name in the language that the client prefers (D5)."""
        if self.api_version == "4.0":
            return {"displayNames": names}
        self.varies_by_language = True
        accepted = self.request.headers.get("Accept-Language", "")
        return {"displayName": names[preferred_culture(accepted, tuple(names), default)]}

    @cached_property
    def base(self) -> str:
        """Scheme and host of every address in the response."""
        return public_base(self.request._request)

    @property
    def facets_address(self) -> str:
        return f"{self.base}{self.context.path}/_api/rest/facets"

    @property
    def allowed_methods(self) -> list[str]:
        return sorted(name.upper() for name in self.action_map)


def reads(action: str) -> dict[str, Any]:
    """Return the methods of an action that only reads: GET, HEAD, and POST with an empty body (D2)."""
    return {"get": action, "head": action, "post": action}


def has_no_body(request: Request) -> bool:
    return request._request.body.strip() in (b"", b"{}")
