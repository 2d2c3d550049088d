"""Errors below `/{collection}/scim/v2` in the form of RFC 7644 (D547), also those of other middleware."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from repository_site.core.middleware import Middleware
from repository_site.core.rest.rendering import JSON_TYPE
from storage.tenancy.addresses import SCIM_KEY

SCIM_TYPE = "application/scim+json"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


class ScimErrorMiddleware(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or not isinstance(response, HttpResponse):
            return response
        if request.path_info.split("/")[2:4] != [SCIM_KEY, "v2"] or response.get("Content-Type") == SCIM_TYPE:
            return response
        response.content = orjson.dumps(error_body(response.status_code, _message(response)))
        response["Content-Type"] = SCIM_TYPE
        return response


def error_body(status: int, detail: str, scim_type: str | None = None) -> dict[str, Any]:
    kind = {"scimType": scim_type} if scim_type else {}
    return {"schemas": [ERROR], "status": str(status), **kind, "detail": detail}


def _message(response: HttpResponse) -> str:
    is_own = response.get("Content-Type") == JSON_TYPE and "Content-Encoding" not in response
    return str(orjson.loads(response.content)["message"]) if is_own else HTTPStatus(response.status_code).phrase
