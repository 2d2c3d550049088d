"""Validation of the settings of a storage, for provisioning and for backups from other installations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from repository_site.core.problems import placed
from storage.localisation.regions import UnknownRegion, region_info
from storage.localisation.time_zones import UnknownTimeZone, time_zone_info
from storage.models import AnonymousAccess
from storage.options import MAX_STUCK_AFTER_DAYS

TITLE_LENGTH = 200
# Names in messages that differ from the field name.
PLACES = {"time_zone": "time zone", "anonymous_access": "anonymous access", "stuck_after_days": "stuck after"}
# All other settings are texts.
KINDS: Mapping[str, tuple[type, str]] = {
    "is_valid": (bool, "true or false"),
    "token_in_query": (bool, "true or false"),
    "stuck_after_days": (int, "a whole number"),
}


def setting_problem(name: str, value: Any) -> str | None:
    """Return the problem of a setting, starting with its place, or None."""
    kind, said = KINDS.get(name, (str, "a text"))
    # In Python, True is an int as well.
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        text: str | None = f"expected {said}, not {value!r}"
    else:
        text = _CHECKS[name](value) if name in _CHECKS else None
    return placed(PLACES.get(name, name), text) if text else None


def _region(code: str) -> str | None:
    try:
        region_info(code)
    except UnknownRegion as problem:
        return str(problem)
    return None


def _time_zone(name: str) -> str | None:
    try:
        time_zone_info(name)
    except UnknownTimeZone as problem:
        return str(problem)
    return None


def _title(text: str) -> str | None:
    return _("longer than %(limit)d characters") % {"limit": TITLE_LENGTH} if len(text) > TITLE_LENGTH else None


def _anonymous(access: str) -> str | None:
    if access in AnonymousAccess.values:
        return None
    return _("expected one of %(known)s, not %(given)r") % {
        "known": ", ".join(AnonymousAccess.values),
        "given": str(access),
    }


def _stuck_after(days: int) -> str | None:
    if 1 <= days <= MAX_STUCK_AFTER_DAYS:
        return None
    return _("expected 1 to %(most)s days, not %(given)s") % {"most": MAX_STUCK_AFTER_DAYS, "given": days}


_CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "region": _region,
    "time_zone": _time_zone,
    "title": _title,
    "anonymous_access": _anonymous,
    "stuck_after_days": _stuck_after,
}
