"""API answers for the preview, rendered by the same functions as in the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from django.http import HttpRequest

from facets.admin.drafting.preview_panel import ApiAnswer
from facets.configuration import CompiledView, Configuration
from facets.rendering import list_facets, list_views, render_view_configuration, segment
from repository_site.core.rest.rendering import counted, to_json
from storage.pages import storage_address


def facet_answers(request: HttpRequest, configuration: Configuration, name: str) -> Iterator[ApiAnswer]:
    """Operations 1 and 2 at api-version 4.0."""
    address = f"{storage_address(request)}/_api/rest/facets"
    facets = list_facets(configuration, address, _names)
    yield ApiAnswer("rest/facets", _as_sent(counted("values", facets)))
    yield view_list(request, configuration, name)


def view_list(request: HttpRequest, configuration: Configuration, facet_name: str) -> ApiAnswer:
    facet = configuration.facet(facet_name).facet
    address = f"{storage_address(request)}/_api/rest/facets"
    views = list_views(configuration, facet, address, _names)
    return ApiAnswer(f"rest/facets/{segment(facet.name)}/views", _as_sent(counted("values", views)))


def view_answer(configuration: Configuration, facet_name: str, view_name: str) -> ApiAnswer:
    """Operation 14 for all types of a view."""
    view = configuration.facet(facet_name).view(view_name)
    return ApiAnswer(_address(view), orjson.loads(render_view_configuration(configuration, view, None)))


def type_answers(configuration: Configuration, type_key: str) -> Iterator[ApiAnswer]:
    """Operation 14 for one type, in each view that has it."""
    for facet in configuration.facets.values():
        for view in facet.views.values():
            if type_key in view.types:
                body = orjson.loads(render_view_configuration(configuration, view, type_key))
                yield ApiAnswer(f"{_address(view)}/{segment(type_key)}", body)


def _address(view: CompiledView) -> str:
    return f"rest/facets/{segment(view.facet.name)}/views/{segment(view.view.name)}/config"


def _names(names: dict[int, str]) -> dict[str, object]:
    return {"displayNames": names}


def _as_sent(body: Any) -> Any:
    return orjson.loads(to_json(body))
