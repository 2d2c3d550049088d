"""The index of the API, its OpenAPI document, and the page that shows the document to people."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request

from repository_site.api_document.document import document_bytes
from repository_site.api_document.document_page import POLICY, page_of
from repository_site.core.problems import Unauthenticated
from repository_site.core.rest.negotiation import weights
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import HTML_TYPE, JSON_TYPE, answer
from repository_site.core.rest.serializers import BodySerializer
from repository_site.core.rest.versioning import ApiVersions
from storage.api.authentication import carries_token
from storage.api.viewset import EVERYWHERE, ApiViewSet

TO_SIGN_IN = OpenApiResponse(description="Redirect of a browser without a session to the sign-in page.")
# Paths below `_api/`, by the name of the link.
PLACES = {"info": "rest/info", "facets": "rest/facets", "document": "schema", "docs": "docs"}
PLACES_IN_STORAGES = {"typeSchemas": "schema/types", "tasks": "rest/tasks"}


class ApiLinksSerializer(BodySerializer):
    info = serializers.URLField(help_text="Storage info.")
    facets = serializers.URLField(help_text="Facets.")
    document = serializers.URLField(help_text="OpenAPI document.")
    docs = serializers.URLField(help_text="OpenAPI document as a page.")
    typeSchemas = serializers.URLField(required=False, help_text="JSON Schemas of the types; only in storages.")
    tasks = serializers.URLField(required=False, help_text="Tasks; only in storages.")


class ApiIndexSerializer(BodySerializer):
    links = ApiLinksSerializer()


class DocumentViewSet(ApiViewSet):
    @Operation(
        "getApiIndex",
        tag="document",
        summary="Get the index of the API",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        contexts=EVERYWHERE,
        media_types=(JSON_TYPE, HTML_TYPE),
        responses={
            (200, JSON_TYPE): ApiIndexSerializer,
            302: OpenApiResponse(description="Redirect of a browser to the page or the sign-in page."),
        },
    )
    def get_api_index(self, request: Request, **names: str) -> HttpResponseBase:
        """Return the addresses to start from. Browsers are redirected to the page of the OpenAPI document."""
        api = f"{self.base}{self.context.path}/_api/"
        if _is_browser(request):
            response: HttpResponseBase = _redirect(f"{api}docs/")
        else:
            places = PLACES | (PLACES_IN_STORAGES if self.context.storage else {})
            response = answer({"links": {name: f"{api}{place}/" for name, place in places.items()}})
        patch_vary_headers(response, ["Accept"])
        return response

    @Operation(
        "getOpenApiDocument",
        tag="document",
        summary="Get the OpenAPI document",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        contexts=EVERYWHERE,
        responses={(200, JSON_TYPE): dict},
    )
    def get_openapi_document(self, request: Request, **names: str) -> HttpResponse:
        """Return the OpenAPI document of the whole API, which is the same in all storages."""
        return HttpResponse(document_bytes(), content_type=JSON_TYPE)

    @Operation(
        "browseDocument",
        tag="document",
        summary="Browse the OpenAPI document",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        contexts=EVERYWHERE,
        media_types=(HTML_TYPE,),
        uses_language=True,
        responses={(200, HTML_TYPE): OpenApiResponse(str, "The page."), 302: TO_SIGN_IN},
    )
    def browse_document(self, request: Request, **names: str) -> HttpResponse:
        """Return a page that shows the OpenAPI document and can send requests."""
        plain = request._request
        language = getattr(plain.user, "language", "") or translation.get_language_from_request(plain)
        page = page_of(self.context, language)
        response = HttpResponse(page, content_type=HTML_TYPE, headers={"Content-Security-Policy": POLICY})
        response["Content-Language"] = language
        patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response

    def handle_exception(self, exc: Exception) -> Any:
        """Send browsers without a session to the sign-in page; programs get 401, as everywhere."""
        request = self.request._request
        is_visitor = (
            isinstance(exc, Unauthenticated)
            and HTML_TYPE in self.operation.media_types
            and _is_browser(self.request)
            and not request.user.is_authenticated
            # An invalid token gets 401. A token in the address must not be repeated in `next`.
            and not carries_token(self.request, self.context)
        )
        return self._ask_to_sign_in() if is_visitor else super().handle_exception(exc)

    def _ask_to_sign_in(self) -> HttpResponseBase:
        office = f"{self.context.path}/admin" if self.context.storage else "/admin"
        address = quote(self.request._request.get_full_path(), safe="/")
        return _redirect(f"{office}/login/?next={address}")


def _is_browser(request: Request) -> bool:
    """Return whether the client names HTML in `Accept` and does not prefer JSON."""
    given = weights(request.META.get("HTTP_ACCEPT", ""))
    return request.method == "GET" and 0 < given.get(HTML_TYPE, 0.0) >= given.get(JSON_TYPE, 0.0)


def _redirect(address: str) -> HttpResponseBase:
    response = HttpResponseRedirect(address)
    del response["Content-Type"]
    return response
