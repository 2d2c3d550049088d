"""The decorator that declares an operation of the API on its viewset method: everything that is known of it, once.

The base viewset (`storage/api/viewset.py`) acts on these facts, and `schema.py` documents them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiParameter

from repository_site.core.rest.rendering import JSON_TYPE
from repository_site.core.rest.versioning import ApiVersions

Action = TypeVar("Action", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operation:
    """Decorates the method of a viewset: `@Operation("listElements", tag="elements", ...)`.

    The docstring of the method becomes the description in the OpenAPI document.
    """

    id: str
    """The operationId of the OpenAPI document, to which a viewset may append its `id_suffix`."""
    _: KW_ONLY
    tag: str
    summary: str
    versions: ApiVersions
    responses: Any
    """Serializer or response of a success, in any form that drf-spectacular takes."""
    parameters: Sequence[OpenApiParameter] = ()
    """Query and path parameters of its own, and the headers of its responses."""
    body: Any = None
    """Serializer of the request body, or one for each media type."""
    body_types: tuple[str, ...] = (JSON_TYPE,)
    """Media types of the request body."""
    contexts: Collection[str] | None = None
    """The types of the contexts where the operation exists; it is 404 elsewhere. None means storages only."""
    media_types: tuple[str, ...] = (JSON_TYPE,)
    """Media type of a success, then others that `Accept` may name instead. Errors are always JSON (D3)."""
    writes: bool = False
    by_facet: bool = False
    """Whether it shows each caller only facets of the caller's scope, although its address names no facet (D489)."""
    creates: bool = False
    """Whether it can create one resource, whose address is in `Location` if the client prefers no body (D575)."""
    tells_once: bool = False
    """Whether the response tells something that no read tells again, such as a secret: it always has a body."""
    reads_without_body: bool = False
    """Whether a POST with an empty body is the GET of the same address (D2). Only for operations that write."""
    is_conditional: bool = False
    """Whether the method returns a `Prepared` read, which is answered with an entity tag."""
    uses_language: bool = False
    """Whether the response depends on `Accept-Language`."""
    warns: bool = False
    """Whether a 422 can be a warning that `ignoreWarnings=true` overrides."""
    body_hint: str = ""
    """The next step for a client that sends a body to an operation that only reads."""

    def __call__(self, action: Action) -> Action:
        action.operation = self  # type: ignore[attr-defined]  # functions take attributes
        return action

    @cached_property
    def query_names(self) -> tuple[str, ...]:
        """Names of the query parameters that the operation takes."""
        return tuple(each.name for each in self.parameters if each.location == OpenApiParameter.QUERY)
