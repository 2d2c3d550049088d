"""The navigation of a storage's back office: apps add their entries, the caller's roles decide which of them show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from storage.models.roles import Role

Text = str | Promise


class Group(Enum):
    """In their order."""

    CONTENT = _("Content")
    RELEASE = _("Release")
    CONFIGURATION = _("Configuration")
    ACCESS = _("Access")


@dataclass(frozen=True, slots=True)
class Entry:
    """`page` is its name in the URLconf, without `admin:`; `badge` answers a number to show, or None."""

    group: Group
    title: Text
    icon: str
    page: str
    roles: frozenset[Role] = frozenset(Role)
    badge: Callable[[HttpRequest], int | None] | None = None


def render_navigation(request: HttpRequest, entries: Iterable[Entry], roles: frozenset[Role]) -> list[dict[str, Any]]:
    """As unfold wants it; a group without entries is left out."""
    shown = [entry for entry in entries if entry.roles & roles]
    return [
        {
            "title": group.value,
            "separator": index > 0,
            "items": [_item(request, entry) for entry in shown if entry.group is group],
        }
        for index, group in enumerate(group for group in Group if any(entry.group is group for entry in shown))
    ]


def _item(request: HttpRequest, entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"title": entry.title, "icon": entry.icon, "link": reverse(f"admin:{entry.page}")}
    number = entry.badge(request) if entry.badge else None
    return found | ({"badge": number} if number else {})
