"""Preferences of clients in the header `Prefer` (RFC 7240): a replica, or a response without a body."""

from __future__ import annotations

from rest_framework.request import Request

from repository_site.core.database.replica import PREFERENCE


def accepts_replica(request: Request) -> bool:
    """Return whether the request says `Prefer: replica`, among other preferences (RFC 7240)."""
    return PREFERENCE in _preferences(request)


def prefers_minimal(request: Request) -> bool:
    """Return whether the request says `Prefer: return=minimal` (D575). The first of several values counts."""
    given = (each.split("=", 1) for each in _preferences(request) if "=" in each)
    values = [value.strip().strip('"') for name, value in given if name.strip() == "return"]
    return values[:1] == ["minimal"]


def _preferences(request: Request) -> list[str]:
    return [each.partition(";")[0].strip().lower() for each in request.META.get("HTTP_PREFER", "").split(",")]
