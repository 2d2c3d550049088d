"""The two admin sites: `/admin/` for the installation, and `/{collection}/{storage}/admin/` for one storage.

Both have the name `admin`. The URLconf of the request decides where a link leads, so every link of a storage's back
office stays in that storage.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from repository_site.core.database.statements import Reading, read_together
from repository_site.core.problems import Forbidden, NotFound
from repository_site.core.search_options import SearchOption, show_options
from repository_site.core.wording import clean_text
from storage.access.callers import Caller, CallerKind
from storage.access.staff import staff_caller
from storage.back_office.navigation import NavigationEntry, NavigationGroup, reading_badges, render_navigation
from storage.back_office.sign_in import GuardedSignIn
from storage.options import Role
from storage.pages import View, caller_of, in_scope, page_caller, problem_page, storage_of
from storage.tenancy.silent_nodes import listening_to_all_nodes

# Django's lists and forms would treat other methods as GET.
METHODS = ["GET", "HEAD", "POST"]
# Hides the button of the theme; templates/admin/submit_line.html has one that reads well in every language.
OWN_DELETE_BUTTON = {"show_delete": False}


class PagedSite(GuardedSignIn):
    """An admin site with pages that are not lists or forms of a model."""

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._pages: list[tuple[str, View, str]] = []

    def add_page(self, route: str, view: View, name: str) -> None:
        """Add a page; `reverse` finds it as `admin:{name}`."""
        self._pages.append((route, view, name))

    def pages(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Return the pages that the caller can open, in groups, as unfold's navigation has them."""
        raise NotImplementedError

    def find_pages(self, request: HttpRequest, text: str) -> list[SearchOption]:
        """Return the pages whose titles contain all words of a text."""
        words = text.casefold().split()
        return [
            SearchOption(str(page["title"]), str(page["link"]), str(group["title"]))
            for group in self.pages(request)
            for page in group["items"]
            if words and all(word in str(page["title"]).casefold() for word in words)
        ]

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Answer Ctrl+K. The search of unfold is not used: it caches results without the storage and would show them to
        other tenants (D404)."""
        return show_options(request, self.find_pages(request, clean_text(request.GET.get("s", ""))))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the models of an app. Without an app, return nothing: the sites have their own navigation."""
        return super().get_app_list(request, app_label) if app_label else []

    def get_urls(self) -> list[URLPattern]:
        pages = [path(route, self.admin_view(view), name=name) for route, view, name in self._pages]
        return [*pages, *super().get_urls()]


class SiteOffice(PagedSite):
    """Back office of the site, for site administrators. Other staff see only links to their storages."""

    settings_name = "UNFOLD_SITE"
    site_header = site_title = _("Content repository")
    index_title = _("Installation")
    index_template = "site_office/index.html"

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Use the time zone of the installation. A page fails if it needs a node that does not answer."""
        guarded: View = super().admin_view(view, cacheable)

        @require_http_methods(METHODS)
        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            with timezone.override(settings.DEFAULT_TIME_ZONE), listening_to_all_nodes():
                response = guarded(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()
            return response

        return inner

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), **OWN_DELETE_BUTTON}

    def pages(self, request: HttpRequest) -> list[dict[str, Any]]:
        return list(self.get_sidebar_list(request))


def works_in_office(caller: Caller | None) -> bool:
    """Tell whether a caller can use the back office: staff with a role above Viewer."""
    return caller is not None and caller.kind is CallerKind.STAFF and bool(caller.roles - {Role.VIEWER})


class StorageOffice(PagedSite):
    """Back office of one storage, for its staff. Every view runs in the scope of the storage."""

    settings_name = "UNFOLD_STORAGE"
    site_header = site_title = _("Content repository")
    index_title = _("Overview")
    index_template = "back_office/index.html"
    first_page = "index"
    """The page after signing in, as a URL name without `admin:`."""

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._navigation: list[NavigationEntry] = [
            NavigationEntry(NavigationGroup.CONTENT, _("Overview"), "dashboard", "index")
        ]

    def add_navigation(self, *entries: NavigationEntry) -> None:
        self._navigation += entries

    def navigation(self, request: HttpRequest) -> list[dict[str, Any]]:
        numbers = read_together(self.reading_badges(request))[0]
        return render_navigation(self._navigation, caller_of(request).roles, numbers)

    def reading_badges(self, request: HttpRequest) -> Reading[dict[str, int | None]]:
        """Return the numbers of the navigation, once per request: most pages read them beside their own content."""
        if not hasattr(request, "badges"):
            found = yield from reading_badges(request, self._navigation, caller_of(request).roles)
            request.badges = found  # type: ignore[attr-defined]  # kept for this request
        return request.badges  # type: ignore[attr-defined, no-any-return]

    def pages(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Return the navigation without its numbers, each of which is a statement."""
        return render_navigation(self._navigation, caller_of(request).roles, {})

    def has_permission(self, request: HttpRequest) -> bool:
        return works_in_office(page_caller(request))

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Check the caller within the scope: the roles of some accounts are attributes of an element there."""
        guarded: View = super().admin_view(view, cacheable)

        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.user.is_authenticated and not self.has_permission(request):
                return self._turn_away(request)
            return guarded(request, *args, **kwargs)

        scoped: View = require_http_methods(METHODS)(in_scope(checked))
        return scoped

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        if request.user.is_authenticated and page_caller(request) is None:
            return self._turn_away(request)
        response = super().login(request, extra_context)
        # The caller of the request was anonymous until now.
        caller = staff_caller(request.user, storage_of(request))
        if response.headers.get("Location") == reverse("admin:index") and works_in_office(caller):
            return redirect(f"admin:{self.first_page}")
        return response

    def _turn_away(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse a signed-in account: 404 for others (D3), a redirect to the reader pages for viewers."""
        caller = page_caller(request)
        if request.path == reverse("admin:logout"):
            return GuardedSignIn.logout(self, request)
        if caller is None or caller.kind is not CallerKind.STAFF:
            return problem_page(
                request, NotFound(gettext("There is no storage at this address, or you are not a member of it."))
            )
        if request.path == reverse("admin:index"):
            return redirect("reader:start")
        return problem_page(request, Forbidden(gettext("The back office requires a role above Viewer.")))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context: dict[str, Any] = super().each_context(request)
        return {**context, "storage": storage_of(request), **OWN_DELETE_BUTTON}


def require_administrator(request: HttpRequest) -> None:
    """Require the role Administrator, for tokens, users and the configuration (D20)."""
    caller_of(request).require_role(Role.ADMINISTRATOR)


site_office = SiteOffice()
storage_office = StorageOffice()
