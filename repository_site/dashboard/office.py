"""Titles, navigation and overviews of the two back offices. This is the roof: it may import every app."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _

from repository_site.dashboard.overview import dashboard
from storage.admin.site_overview import site_overview
from storage.back_office import storage_office
from storage.models import StaffAccount
from storage.pages import page_caller, storage_of

Navigation = list[dict[str, Any]]


def style(request: HttpRequest) -> str:
    return static("back_office/office.css")


def state_style(request: HttpRequest) -> str:
    return static("states.css")


def script(request: HttpRequest) -> str:
    return static("back_office/office.js")


def search_box(request: HttpRequest) -> str:
    return static("search_box.js")


def expressions(request: HttpRequest) -> str:
    """Load this script before the deferred scripts of the theme, which would need `eval` without it (D148)."""
    return static("back_office/expressions.js")


def icon(request: HttpRequest) -> str:
    return static("icon.svg")


def site_title(request: HttpRequest) -> str:
    return _("Content repository")


def storage_title(request: HttpRequest) -> str:
    """Hide the title on the sign-in page from visitors who do not belong to the storage."""
    storage = storage_of(request)
    return str(_("Content repository")) if page_caller(request) is None else storage.title or str(storage)


def storage_path(request: HttpRequest) -> str:
    return str(storage_of(request))


def reader_address(request: HttpRequest) -> str:
    return reverse("reader:start")


def account_links(request: HttpRequest) -> Navigation:
    """Return the links of the account menu. The sign-in page has no account."""
    if not isinstance(request.user, StaffAccount) or page_caller(request) is None:
        return []
    links = [{"title": _("My account"), "link": reverse("account")}]
    if request.user.has_usable_password():
        links.append({"title": _("Change password"), "link": reverse("admin:password_change")})
    return links


def site_account_links(request: HttpRequest) -> Navigation:
    if not isinstance(request.user, StaffAccount):
        return []
    change = {"title": _("Change password"), "link": reverse("admin:password_change")}
    factor = {"title": _("Second factor"), "link": reverse("second_factors")}
    return [change, factor] if request.user.has_usable_password() else [factor]


def storage_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    return {**context, **dashboard(request)}


def site_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    return {**context, **site_overview(request)}


def storage_navigation(request: HttpRequest) -> Navigation:
    return storage_office.navigation(request)


def site_navigation(request: HttpRequest) -> Navigation:
    if not request.user.is_superuser:
        return [_group(_("Storages"), [_item(_("Overview"), "dashboard", "index")])]
    return [
        _group(
            _("Installation"),
            [
                _item(_("Overview"), "dashboard", "index"),
                _item(_("Collections"), "folder", "storage_storagecollection_changelist"),
                _item(_("Storages"), "database", "storage_storage_changelist"),
                _item(_("Load"), "speed", "storage_load"),
                _item(_("Jobs"), "work_history", "storage_queuedjob_changelist"),
            ],
        ),
        _group(
            _("Access"),
            [
                _item(_("Staff accounts"), "badge", "storage_staffaccount_changelist"),
                _item(_("Invitations"), "forward_to_inbox", "storage_invitation_changelist"),
                _item(_("Identity providers"), "passkey", "storage_identityprovider_changelist"),
                _item(_("Failed sign-ins"), "lock_clock", "storage_failedsignin_changelist"),
                _item(_("API tokens"), "key", "storage_apitoken_changelist"),
            ],
            separator=True,
        ),
    ]


def _group(title: str, items: Navigation, *, separator: bool = False) -> dict[str, Any]:
    return {"title": title, "separator": separator, "items": items}


def _item(title: str, icon: str, page: str, **parts: Any) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse(f"admin:{page}", kwargs=parts or None)}
