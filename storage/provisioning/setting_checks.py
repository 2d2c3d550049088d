"""Validation of the settings of a storage, for provisioning and for backups from other installations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from repository_site.core.problems import placed
from storage.localisation.regions import UnknownRegion, region_info
from storage.localisation.time_zones import UnknownTimeZone, time_zone_info
from storage.models import AnonymousAccess
from storage.options import MAX_EVENT_DAYS, MAX_PAST_DAYS, MAX_STUCK_AFTER_DAYS, QUOTAS
from storage.origins import origins_problem

TITLE_LENGTH = 200
# Names in messages that differ from the field name.
PLACES = {"time_zone": "time zone", "anonymous_access": "anonymous access", "stuck_after_days": "stuck after"}
# The last one limits a collection (D595), the others limit a storage.
QUOTA_FIELDS = (*(f"quota_{name}" for name in QUOTAS), "quota_storages")
PLACES |= {name: name.replace("_", " ") for name in QUOTA_FIELDS}
PLACES |= {"event_days": "event days", "past_days": "past days", "allowed_origins": "allowed origins"}
# All other settings are texts.
KINDS: Mapping[str, tuple[type, str]] = {
    "is_valid": (bool, "true or false"),
    "token_in_query": (bool, "true or false"),
    "stuck_after_days": (int, "a whole number"),
    "event_days": (int, "a whole number"),
    "past_days": (int, "a whole number"),
    **dict.fromkeys(QUOTA_FIELDS, (int, "a whole number")),
}


def setting_problem(name: str, value: Any) -> str | None:
    """Return the problem of a setting, starting with its place, or None."""
    if name in QUOTA_FIELDS and value is None:
        return None
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


def _days(days: int, most: int) -> str | None:
    if 1 <= days <= most:
        return None
    return _("expected 1 to %(most)s days, not %(given)s") % {"most": most, "given": days}


def _quota(most: int, limit: int = 2**63) -> str | None:
    if 0 <= most < limit:
        return None
    return _("expected a whole number of 0 or more, not %(given)s") % {"given": most}


_CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "region": _region,
    "time_zone": _time_zone,
    "title": _title,
    "anonymous_access": _anonymous,
    "allowed_origins": origins_problem,
    "stuck_after_days": partial(_days, most=MAX_STUCK_AFTER_DAYS),
    "event_days": partial(_days, most=MAX_EVENT_DAYS),
    "past_days": partial(_days, most=MAX_PAST_DAYS),
    **dict.fromkeys(QUOTA_FIELDS, _quota),
    "quota_storages": partial(_quota, limit=2**31),
}
