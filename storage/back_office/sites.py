"""`/admin/` for the whole installation, and `/{collection}/{storage}/admin/` for one storage, inside its tenant scope.

Both are called `admin`: which one a link leads to follows from the URLconf of the request, so every link of a storage's
back office stays in that storage.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from repository_site.core.problems import Forbidden, NotFound
from storage.access.callers import Caller, CallerKind
from storage.back_office.navigation import Entry, Group, render_navigation
from storage.back_office.sign_in import GuardedSignIn
from storage.models.roles import Role
from storage.pages import View, caller_of, in_scope, page_caller, problem_page, storage_of

# Django's lists and forms would take others for GET.
METHODS = ["GET", "HEAD", "POST"]
# templates/admin/submit_line.html has a button that reads well in every language; this hides the theme's.
OWN_DELETE_BUTTON = {"show_delete": False}


class SiteOffice(GuardedSignIn):
    """For site administrators. Other staff find the storages here that they belong to, and nothing else."""

    settings_name = "UNFOLD_SITE"
    site_header = site_title = _("Content repository")
    index_title = _("Installation")
    index_template = "site_office/index.html"

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Moments are shown and typed in the installation's time zone."""
        guarded: View = super().admin_view(view, cacheable)

        @require_http_methods(METHODS)
        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            with timezone.override(settings.DEFAULT_TIME_ZONE):
                response = guarded(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()
            return response

        return inner

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), **OWN_DELETE_BUTTON}


def works_in_office(caller: Caller | None) -> bool:
    """Viewers read the pages for readers; every role above works here."""
    return caller is not None and caller.kind is CallerKind.STAFF and bool(caller.roles - {Role.VIEWER})


class StorageOffice(GuardedSignIn):
    """For the staff of one storage. Every view of it runs in the storage's scope."""

    settings_name = "UNFOLD_STORAGE"
    site_header = site_title = _("Content repository")
    index_title = _("Overview")
    index_template = "back_office/index.html"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._pages: list[tuple[str, View, str]] = []
        self._navigation: list[Entry] = [Entry(Group.CONTENT, _("Overview"), "dashboard", "index")]

    def add_page(self, route: str, view: View, name: str) -> None:
        """A page that is no list or form of a model; `name` is `admin:{name}` to `reverse`."""
        self._pages.append((route, view, name))

    def add_navigation(self, *entries: Entry) -> None:
        self._navigation += entries

    def navigation(self, request: HttpRequest) -> list[dict[str, Any]]:
        return render_navigation(request, self._navigation, caller_of(request).roles)

    def get_urls(self) -> list[URLPattern]:
        pages = [path(route, self.admin_view(view), name=name) for route, view, name in self._pages]
        return [*pages, *super().get_urls()]

    def has_permission(self, request: HttpRequest) -> bool:
        return works_in_office(page_caller(request))

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        guarded: View = super().admin_view(in_scope(view), cacheable)

        @require_http_methods(METHODS)
        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.user.is_authenticated and not self.has_permission(request):
                return self._turn_away(request)
            return guarded(request, *args, **kwargs)

        return inner

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        if request.user.is_authenticated and page_caller(request) is None:
            return self._turn_away(request)
        return super().login(request, extra_context)

    def _turn_away(self, request: HttpRequest) -> HttpResponseBase:
        """Who does not belong here learns nothing of the storage (D3); a viewer is shown to the pages for readers."""
        caller = page_caller(request)
        if request.path == reverse("admin:logout"):
            return AdminSite.logout(self, request)
        if caller is None or caller.kind is not CallerKind.STAFF:
            return problem_page(request, NotFound(gettext("There is no storage at this address that you belong to.")))
        if request.path == reverse("admin:index"):
            return redirect("reader:start")
        return problem_page(request, Forbidden(gettext("The back office needs a role above viewer.")))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context: dict[str, Any] = super().each_context(request)
        return {**context, "storage": storage_of(request), **OWN_DELETE_BUTTON}

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Unfold's own keeps results in a cache that knows no storages: what one tenant found would show in another."""
        raise NotFound(gettext("There is no such page."))


def require_administrator(request: HttpRequest) -> None:
    """Tokens, users and the configuration are for administrators (D20)."""
    caller_of(request).require_role(Role.ADMINISTRATOR)


site_office = SiteOffice()
storage_office = StorageOffice()
