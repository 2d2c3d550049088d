"""The landing page at `/`: what this installation is, and the storages that the visitor may enter.

Staff see the storages of their memberships and site administrators see all. Anonymous visitors see no list, unless the
operator sets REPOSITORY_PUBLIC_STORAGE_LIST; then they see the storages that allow anonymous reading.
"""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_script_prefix
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.http import require_safe

from repository_site.core.wording import clean_text
from storage.access.memberships import admission_code
from storage.back_office.model_admin import OFFICE_ROLES
from storage.models import AnonymousAccess, StaffAccount, Storage
from storage.tenancy.contexts import Context, ContextType

# Visitors find more storages by searching.
MOST = 50
# A shorter list needs no search.
FEW = 10
# Further words of a search text are ignored.
MOST_WORDS = 10


@require_safe
def landing_page(request: HttpRequest) -> HttpResponse:
    account = request.user if isinstance(request.user, StaffAccount) and request.user.is_staff else None
    text = clean_text(request.GET.get("q", ""))
    found = _cards(account, text)
    context = {
        "account": account,
        "admission_code": admission_code(account) if account and not account.is_superuser else "",
        "cards": found[:MOST],
        "has_more": len(found) > MOST,
        "most": MOST,
        "text": text,
        "is_searchable": bool(text) or len(found) > FEW,
        "shows_list": account is not None or settings.PUBLIC_STORAGE_LIST,
        "api_document": f"{_base()}{Context(ContextType.SITE).path}/_api/docs"
        if account and account.is_superuser
        else "",
    }
    response = render(request, "landing.html", context)
    patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response


def _cards(account: StaffAccount | None, text: str) -> list[dict[str, str]]:
    """Return at most one card more than the page shows, with a fixed number of statements.

    A membership shows its storage even while the user that it names is inactive (D4); entering checks that.
    """
    storages = Storage.objects.select_related("collection").order_by("collection__key", "key")
    for word in text.split()[:MOST_WORDS]:
        storages = storages.filter(
            Q(key__icontains=word) | Q(title__icontains=word) | Q(collection__key__icontains=word)
        )
    is_root = account is not None and account.is_superuser
    roles = dict(account.memberships.values_list("storage_id", "roles")) if account and not is_root else {}
    if not is_root:
        public = Q(anonymous_access=AnonymousAccess.READ) if settings.PUBLIC_STORAGE_LIST else Q(pk__in=[])
        storages = storages.filter(public | Q(pk__in=roles))
    return [
        _card(each, is_office=is_root or bool(OFFICE_ROLES.intersection(roles.get(each.pk, ()))))
        for each in storages[: MOST + 1]
    ]


def _card(storage: Storage, *, is_office: bool) -> dict[str, str]:
    base = f"{_base()}{Context(ContextType.STORAGE, storage.collection, storage).path}"
    return {
        "title": storage.title or str(storage),
        "path": str(storage),
        "description": storage.description,
        "pages": f"{base}/",
        "office": f"{base}/admin/" if is_office else "",
        "document": f"{base}/_api/docs",
    }


def _base() -> str:
    return get_script_prefix().rstrip("/")
