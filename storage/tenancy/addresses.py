"""Which ids collections and storages may have, and the addresses they answer under (D1)."""

from __future__ import annotations

import re

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

KEY_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# First or second path segments with a meaning of their own; a tenant of that name could never be reached.
RESERVED_KEYS = frozenset(
    {"admin", "static", "media", "healthz", "readyz", "metrics", "api", "docs", "favicon.ico", "robots.txt"}
)

SITE_KEY = "_sysadmin"
ADMINISTRATION_KEY = "_admin"


def key_problem(key: str) -> str | None:
    """Why a key cannot name a collection or storage, or None when it can."""
    if not KEY_PATTERN.fullmatch(key):
        text = _(
            "%(key)r cannot be used as an id: letters, digits, dot, hyphen and underscore, up to 63, starting with a"
            " letter or digit"
        )
        return text % {"key": key}
    if key.lower() in RESERVED_KEYS:
        return _("%(key)r is reserved") % {"key": key}
    return None


def public_base(request: HttpRequest) -> str:
    """Scheme and host of every address in an answer: the configured public one, else the request's own."""
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
