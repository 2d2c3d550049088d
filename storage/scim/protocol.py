"""The operations of SCIM (RFC 7644): resources, lists, changes and discovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from pydantic import ValidationError
from scim2_models import (
    Context,
    Error,
    InvalidPathException,
    InvalidSyntaxException,
    InvalidValueException,
    PatchOp,
    Resource,
    ResponseParameters,
    SCIMException,
)

from repository_site.core.database.repeating import repeated
from repository_site.core.fairness.admission import between_attempts
from repository_site.core.problems import Busy, Conflict, Invalid, NotFound, Problem, TooLarge
from repository_site.core.rest.errors import problem_answer, status_of
from storage.models import DirectoryGroup, DirectoryPerson, IdentityProvider
from storage.scim import documents
from storage.scim.error_middleware import SCIM_TYPE, error_body
from storage.scim.filters import LONGEST_FILTER, condition
from storage.scim.groups import GroupTerms, change_group, create_group, delete_group, found_group
from storage.scim.people import PersonTerms, change_person, create_person, delete_person, found_person, version_of
from storage.scim.requests import LONGEST_BODY
from storage.scim.resources import (
    ENDPOINTS,
    LARGEST_PAGE,
    MOST_OPERATIONS,
    POLICY,
    Person,
    ScimGroup,
    resource_types,
    schemas,
    service_config,
)
from storage.tenancy.addresses import SCIM_KEY, public_base

LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
USUAL_PAGE = 100
LONGEST_PERSON = 32 * 1024
METHODS = {"ServiceProviderConfig": "GET", "ResourceTypes": "GET", "Schemas": "GET", "Bulk": "POST"}


@dataclass(frozen=True, slots=True)
class ScimReply:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> HttpResponse:
        if self.body is None:
            return HttpResponse(status=self.status, headers=dict(self.headers))
        content = orjson.dumps(self.body)
        return HttpResponse(content, status=self.status, content_type=SCIM_TYPE, headers=dict(self.headers))


@dataclass(frozen=True, slots=True)
class ScimOperation:
    """One operation: a request, or a part of a bulk request."""

    method: str
    place: list[str]
    body: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict)
    if_match: str = ""
    if_none_match: str = ""

    def data(self) -> dict[str, Any]:
        if b"\\u0000" in self.body:
            raise InvalidValueException(detail="The body contains a character that no text contains.")
        try:
            found = orjson.loads(self.body)
        except orjson.JSONDecodeError as problem:
            raise InvalidSyntaxException(detail=f"The body is not valid JSON: {problem}") from None
        if not isinstance(found, dict):
            raise InvalidSyntaxException(detail="The body is not a JSON object.")
        return found


class Exchange:
    """A request of a directory and its answer."""

    def __init__(self, request: HttpRequest, provider: IdentityProvider, place: list[str]) -> None:
        self.request = request
        self.provider = provider
        collection = provider.collection
        self.base = f"{public_base(request)}/{collection.key if collection else ''}/{SCIM_KEY}/v2"
        self.operation = ScimOperation(
            str(request.method),
            place,
            request.body,
            request.GET.dict(),
            request.headers.get("If-Match", ""),
            request.headers.get("If-None-Match", ""),
        )

    def answer(self) -> HttpResponse:
        try:
            if self.operation.place == ["Bulk"] and self.operation.method == "POST":
                from storage.scim.bulk import perform_bulk

                return perform_bulk(self, self.operation.data()).response()
            return self.perform(self.operation).response()
        except SCIMException as problem:
            return refusal(problem).response()

    def perform(self, operation: ScimOperation) -> ScimReply:
        """Perform an operation in a transaction of its own. Problems of middleware and limits are raised."""
        try:
            return repeated(partial(self._perform, operation), partial(between_attempts, self.request))
        except IntegrityError:
            # Somebody signs in, for the first time, while the directory creates the same person.
            raise Busy("The person is changed elsewhere at the same time. Try again.", retry_after=1) from None
        except (SCIMException, ValidationError, Conflict, Invalid) as problem:
            return refusal(problem)

    def _perform(self, operation: ScimOperation) -> ScimReply:
        name, *rest = operation.place or [""]
        if name in METHODS and operation.method != METHODS[name]:
            return _not_allowed(METHODS[name])
        if name == "ServiceProviderConfig" and not rest:
            config = service_config(LONGEST_BODY)
            return ScimReply(200, documents.shown(config, None) | {"meta": self._described("", name)})
        if name in ("ResourceTypes", "Schemas"):
            return self._discovery(operation, name, rest)
        if name not in ENDPOINTS or len(rest) > 1:
            return ScimReply(501, error_body(501, "Search in /Users or /Groups.")) if name == ".search" else _nothing()
        if rest == [".search"]:
            return ScimReply(501, error_body(501, "Use GET with a filter."))
        if name == "Users" and len(operation.body) > LONGEST_PERSON:
            # Values of lists are compared with each other.
            raise TooLarge(f"A User has at most {LONGEST_PERSON} bytes.")
        methods = self._methods(operation, ENDPOINTS[name], rest[0] if rest else None)
        work = methods.get(operation.method)
        return work() if work else _not_allowed(", ".join(methods))

    def _methods(
        self, operation: ScimOperation, model: type[Resource[Any]], id: str | None
    ) -> dict[str, Callable[[], ScimReply]]:
        if id is None:
            return {"GET": partial(self._list, operation, model), "POST": partial(self._create, operation, model)}
        if not documents.ID.fullmatch(id):
            raise NotFound(f"There is no resource {id[:100]}.")
        return {
            "GET": partial(self._read, operation, model, id),
            "PUT": partial(self._replace, operation, model, id),
            "PATCH": partial(self._patch, operation, model, id),
            "DELETE": partial(self._delete, operation, model, id),
        }

    # Discovery

    def _discovery(self, operation: ScimOperation, name: str, rest: list[str]) -> ScimReply:
        if "filter" in operation.parameters:
            return ScimReply(403, error_body(403, f"{name} cannot be filtered."))
        kind = name.removesuffix("s")
        all_of = resource_types() if name == "ResourceTypes" else schemas()
        found = {
            str(each.id): documents.shown(each, None) | {"meta": self._described(name, kind, each.id)}
            for each in all_of
        }
        if not rest:
            return ScimReply(200, _listed([*found.values()], len(found)))
        return ScimReply(200, found["/".join(rest)]) if "/".join(rest) in found else _nothing()

    def _described(self, endpoint: str, kind: str, id: Any = "") -> dict[str, str]:
        return {"resourceType": kind, "location": "/".join(filter(None, (self.base, endpoint or kind, str(id))))}

    # Reading

    def _parameters(self, operation: ScimOperation, model: type[Resource[Any]]) -> ResponseParameters[Any]:
        given = {
            name: operation.parameters[name]
            for name in ("attributes", "excludedAttributes")
            if operation.parameters.get(name)
        }
        return ResponseParameters[model].model_validate(given, scim_policy=POLICY)  # type: ignore[valid-type]

    def _list(self, operation: ScimOperation, model: type[Resource[Any]]) -> ScimReply:
        parameters = self._parameters(operation, model)
        start = max(1, _number(operation.parameters, "startIndex", 1))
        count = min(max(0, _number(operation.parameters, "count", USUAL_PAGE)), LARGEST_PAGE)
        rows: Any = self.provider.people if model is Person else self.provider.groups
        rows = rows.order_by("created_on", "id")
        if text := operation.parameters.get("filter"):
            rows = rows.filter(condition(model, text))
        page = list(rows[start - 1 : start - 1 + count]) if count else []
        total = start - 1 + len(page) if page and len(page) < count else rows.count()
        return ScimReply(200, _listed(self._documents(page, parameters), total, start))

    def _documents(self, rows: list[Any], parameters: ResponseParameters[Any]) -> list[dict[str, Any]]:
        if rows and isinstance(rows[0], DirectoryPerson):
            return documents.person_documents(rows, self.base, parameters)
        return documents.group_documents(rows, self.base, parameters)

    def _read(self, operation: ScimOperation, model: type[Resource[Any]], id: str) -> ScimReply:
        parameters = self._parameters(operation, model)
        found = found_person(self.provider, id) if model is Person else found_group(self.provider, id)
        tags = {each.strip() for each in operation.if_none_match.split(",")}
        if tags & {"*", version_of(found), version_of(found).removeprefix("W/")}:
            return ScimReply(304, headers={"ETag": version_of(found)})
        return self._shown(200, found, parameters)

    def _shown(
        self, status: int, found: DirectoryPerson | DirectoryGroup, parameters: ResponseParameters[Any]
    ) -> ScimReply:
        kind = "Users" if isinstance(found, DirectoryPerson) else "Groups"
        headers = {"ETag": version_of(found), "Location": f"{self.base}/{kind}/{found.pk}"}
        return ScimReply(status, self._documents([found], parameters)[0], headers)

    # Changes

    def _create(self, operation: ScimOperation, model: type[Resource[Any]]) -> ScimReply:
        parameters = self._parameters(operation, model)
        given = _checked(model, operation.data(), Context.RESOURCE_CREATION_REQUEST)
        if isinstance(given, ScimGroup):
            return self._shown(201, create_group(self.provider, documents.group_terms(given)), parameters)
        return self._shown(201, create_person(self.provider, documents.person_terms(given)), parameters)

    def _replace(self, operation: ScimOperation, model: type[Resource[Any]], id: str) -> ScimReply:
        parameters = self._parameters(operation, model)
        given = _checked(model, operation.data(), Context.RESOURCE_REPLACEMENT_REQUEST)
        if isinstance(given, ScimGroup):
            terms = documents.group_terms(given)
            return self._shown(200, change_group(self.provider, id, operation.if_match, lambda _: terms), parameters)
        wanted = documents.person_terms(given)
        return self._shown(200, change_person(self.provider, id, operation.if_match, lambda _: wanted), parameters)

    def _patch(self, operation: ScimOperation, model: type[Resource[Any]], id: str) -> ScimReply:
        parameters = self._parameters(operation, model)
        operations = _operations(operation.data())
        if model is ScimGroup:
            changes = documents.MemberChanges(operations)
            patch = _patch_of(model, changes.others) if changes.others else None
            group = change_group(self.provider, id, operation.if_match, partial(self._patched_group, patch, changes))
            if not parameters.attributes:
                # The whole group may have very many members, and directories do not read it here.
                return ScimReply(204, headers={"ETag": version_of(group), "Location": f"{self.base}/Groups/{group.pk}"})
            return self._shown(200, group, parameters)

        wanted = _patch_of(model, operations)

        def patched(person: DirectoryPerson) -> PersonTerms:
            resource = documents.person_resource(person)
            wanted.patch(resource, POLICY)
            return documents.person_terms(resource)

        return self._shown(200, change_person(self.provider, id, operation.if_match, patched), parameters)

    def _patched_group(self, patch: Any, changes: documents.MemberChanges, group: DirectoryGroup) -> GroupTerms:
        resource = documents.group_resource(group, (), self.base)
        if patch is not None:
            patch.patch(resource, POLICY)
        return documents.group_terms(resource, changes)

    def _delete(self, operation: ScimOperation, model: type[Resource[Any]], id: str) -> ScimReply:
        delete = delete_person if model is Person else delete_group
        delete(self.provider, id, operation.if_match)
        return ScimReply(204)


def _checked(model: Any, data: dict[str, Any], context: Context) -> Any:
    return model.model_validate(data, scim_ctx=context, scim_policy=POLICY)


def _operations(data: dict[str, Any]) -> list[Any]:
    """Return the operations of a PATCH; each of them costs the same as the others."""
    found = next((value for name, value in data.items() if name.lower() == "operations"), None)
    if not isinstance(found, list) or not 0 < len(found) <= MOST_OPERATIONS:
        raise InvalidValueException(detail=f"Operations: expected a list of 1 to {MOST_OPERATIONS} operations.")
    paths = (
        value for each in found if isinstance(each, dict) for name, value in each.items() if name.lower() == "path"
    )
    if any(isinstance(path, str) and len(path) > LONGEST_FILTER for path in paths):
        raise InvalidPathException(detail=f"A path has at most {LONGEST_FILTER} characters.")
    return found


def _patch_of(model: type[Resource[Any]], operations: list[Any]) -> Any:
    return _checked(PatchOp[model], {"Operations": operations}, Context.RESOURCE_PATCH_REQUEST)  # type: ignore[valid-type]


def _listed(resources: list[dict[str, Any]], total: int, start: int = 1) -> dict[str, Any]:
    return {
        "schemas": [LIST],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(resources),
        "Resources": resources,
    }


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, str(default)).strip()
    if not text.removeprefix("-").isdecimal() or len(text) > 9:
        raise InvalidValueException(detail=f"{name}: expected a number.")
    return int(text)


def _nothing() -> ScimReply:
    return ScimReply(404, error_body(404, "There is nothing at this address."))


def _not_allowed(methods: str) -> ScimReply:
    return ScimReply(405, error_body(405, f"This address allows {methods}."), {"Allow": methods})


def refusal(problem: SCIMException | ValidationError | Problem) -> ScimReply:
    """Return the error of an operation."""
    if isinstance(problem, Problem):
        kind = "uniqueness" if isinstance(problem, Conflict) else None
        kind = "invalidValue" if isinstance(problem, Invalid) else kind
        status = 400 if isinstance(problem, Invalid) else status_of(problem)
        headers = {name: value for name, value in problem_answer(problem).items() if name == "Retry-After"}
        return ScimReply(status, error_body(status, problem.message, kind), headers)
    error = Error.from_validation_errors(problem)[0] if isinstance(problem, ValidationError) else problem.to_error()
    status = error.status or 400
    return ScimReply(status, error_body(status, (error.detail or "")[:1000], error.scim_type))
