"""Roles, choices and defaults. They need no models, so that `manage.py COMMAND --help` is quick (D176)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

STUCK_AFTER_DAYS, MAX_STUCK_AFTER_DAYS = 14, 3650
EVENT_DAYS, MAX_EVENT_DAYS = 90, 3650
PAST_DAYS, MAX_PAST_DAYS = 1095, 10_950
QUOTAS = ("elements", "bytes", "files", "history")
"""Names of the quotas of a storage. The fields of `Storage` begin with `quota_`."""
DEFAULT_OVERLAP = timedelta(days=1)
"""Time for which the old value of a rotated token stays valid."""
KEPT_DAYS = 90
"""Days for which request counts are kept."""


class Role(StrEnum):
    """Roles of callers (D20), from the least to the most powerful."""

    VIEWER = "viewer"
    ANALYZER = "analyzer"
    EDITOR = "editor"
    APPROVER = "approver"
    ARCHITECT = "architect"
    ADMINISTRATOR = "administrator"


def parse_roles(names: Iterable[str]) -> tuple[Role, ...]:
    """Return roles by their names, from the least to the most powerful; raise ValueError for an unknown name."""
    given = [name.strip().lower() for name in names]
    unknown = sorted(set(given) - set(Role))
    if unknown:
        raise ValueError(f"unknown role {', '.join(unknown)}; roles are {', '.join(Role)}")
    return tuple(role for role in Role if role in given)


class AnonymousAccess(TextChoices):
    NONE = "none", _("no access")
    READ = "read", _("read released content")
