"""Middleware for pages: the storage of the address, and the language."""

from __future__ import annotations

import re

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, set_script_prefix
from django.utils import translation

from repository_site.core.middleware import Middleware
from repository_site.core.rest.errors import is_api_path
from storage.accounts.visitors import KEY as SESSION
from storage.accounts.visitors import read_visit
from storage.models import Storage
from storage.tenancy.addresses import KEY_PATTERN, RESERVED_KEYS
from storage.tenancy.contexts import read_storage

KEY = KEY_PATTERN.pattern
PAGE = re.compile(rf"(?P<prefix>/(?P<collection>{KEY})/(?P<storage>{KEY}))(?P<rest>/.*)?", re.DOTALL)


class StoragePathMiddleware(Middleware):
    """Move `/{collection}/{storage}` into the script prefix, so that every link of a page stays in its storage."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        before = get_script_prefix()
        found = PAGE.fullmatch(request.path_info)
        if found and not is_api_path(request.path_info) and found["collection"].lower() not in RESERVED_KEYS:
            storage = self._find(request, found["collection"], found["storage"])
            if storage is not None:
                structlog.contextvars.bind_contextvars(storage=found["prefix"].strip("/"))
                prefix = request.META.get("SCRIPT_NAME", "").rstrip("/") + found["prefix"]
                request.storage = storage  # type: ignore[attr-defined]  # read by storage.pages
                request.META["SCRIPT_NAME"] = prefix
                request.path_info = found["rest"] or "/"
                request.urlconf = settings.STORAGE_URLCONF
                set_script_prefix(f"{prefix}/")
        try:
            return self.get_response(request)
        finally:
            # The script prefix belongs to the thread; the next request must not inherit it.
            set_script_prefix(before)

    def _find(self, request: HttpRequest, collection: str, storage: str) -> Storage | None:
        """Return the storage, and read the visitor with it if there may be one."""
        session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        if not SESSION.fullmatch(session):
            return read_storage(collection, storage)
        found, request.visitor = read_visit(collection, storage, session)  # type: ignore[attr-defined]  # for VisitorMiddleware
        return found


class LanguageMiddleware(Middleware):
    """Choose the language: that of the staff account, else the browser's; English for the API."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if is_api_path(request.path_info):
            # A thread has the language of the settings, except while it serves a page.
            if translation.get_language() == settings.LANGUAGE_CODE:
                return self.get_response(request)
            with translation.override(settings.LANGUAGE_CODE):
                return self.get_response(request)
        chosen = getattr(request.user, "language", "") or translation.get_language_from_request(request)
        with translation.override(chosen):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", chosen)
        return response
