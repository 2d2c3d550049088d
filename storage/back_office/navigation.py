"""Navigation of a storage's back office. Apps add entries; the caller's roles decide which are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from repository_site.core.database.statements import Reading, side_by_side
from storage.options import Role

Text = str | Promise


class NavigationGroup(Enum):
    """Groups of the navigation, in their order."""

    CONTENT = _("Content")
    RELEASE = _("Release")
    CONFIGURATION = _("Configuration")
    ACCESS = _("Access")


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A link. `page` is the URL name without `admin:`; `badge` returns a number to show, or None."""

    group: NavigationGroup
    title: Text
    icon: str
    page: str
    roles: frozenset[Role] = frozenset(Role)
    badge: Callable[[HttpRequest], Reading[int | None]] | None = None


def reading_badges(
    request: HttpRequest, entries: Iterable[NavigationEntry], roles: frozenset[Role]
) -> Reading[dict[str, int | None]]:
    """Return the numbers beside the entries that the caller sees, by page."""
    shown = [(entry.page, entry.badge) for entry in entries if entry.badge and entry.roles & roles]
    numbers = yield from side_by_side(*(badge(request) for _, badge in shown))
    return {page: number for (page, _), number in zip(shown, numbers, strict=True)}


def render_navigation(
    entries: Iterable[NavigationEntry], roles: frozenset[Role], numbers: Mapping[str, int | None]
) -> list[dict[str, Any]]:
    """Return the navigation in unfold's form, without empty groups."""
    shown = [entry for entry in entries if entry.roles & roles]
    return [
        {
            "title": group.value,
            "separator": index > 0,
            "items": [_item(entry, numbers.get(entry.page)) for entry in shown if entry.group is group],
        }
        for index, group in enumerate(
            group for group in NavigationGroup if any(entry.group is group for entry in shown)
        )
    ]


def _item(entry: NavigationEntry, number: int | None) -> dict[str, Any]:
    return {"title": entry.title, "icon": entry.icon, "link": reverse(f"admin:{entry.page}"), "badge": number or None}
