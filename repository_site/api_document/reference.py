"""The API reference of the installation: the page at `/api/` and its OpenAPI document, for every visitor (D177).

The OpenAPI document is part of the software and the same everywhere, so it tells nothing about storages.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.http import require_safe

from repository_site.api_document.document import document_bytes
from repository_site.api_document.document_page import POLICY, reference_page
from repository_site.core.rest.rendering import HTML_TYPE, JSON_TYPE


@require_safe
def api_reference(request: HttpRequest) -> HttpResponse:
    page = reference_page(translation.get_language() or "")
    response = HttpResponse(page, content_type=HTML_TYPE, headers={"Content-Security-Policy": POLICY})
    patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response


@require_safe
def openapi_document(request: HttpRequest) -> HttpResponse:
    return HttpResponse(document_bytes(), content_type=JSON_TYPE, headers={"Cache-Control": "no-cache"})
