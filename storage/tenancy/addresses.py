"""Ids of collections and storages, and their addresses (D1)."""

from __future__ import annotations

import re

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

KEY_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# Path segments with a meaning of their own; a tenant with such an id could not be reached.
RESERVED_KEYS = frozenset(
    {"admin", "static", "media", "healthz", "readyz", "metrics", "api", "docs", "favicon.ico", "robots.txt"}
)
# Below `/{collection}/scim/v2`, directories provision people (D540).
SCIM_KEY = "scim"

SITE_KEY = "_sysadmin"
ADMINISTRATION_KEY = "_admin"


def key_problem(key: str, place: str = "collection") -> str | None:
    """Return why a key is invalid as the id of a collection or, with the place `storage`, of a storage; or None."""
    if not KEY_PATTERN.fullmatch(key):
        text = _(
            "%(key)r is not a valid id; use up to 63 letters, digits, dots, hyphens and underscores, starting with a"
            " letter or digit"
        )
        return text % {"key": key}
    if key.lower() in RESERVED_KEYS or (place == "storage" and key.lower() == SCIM_KEY):
        return _("%(key)r is reserved") % {"key": key}
    return None


def public_base(request: HttpRequest) -> str:
    """Return scheme and host for addresses in responses: the configured public ones, else those of the request."""
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
