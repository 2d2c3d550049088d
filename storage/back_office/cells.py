"""Rendering of times, numbers and badges in the back offices."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache

from babel.dates import format_timedelta
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils import formats, timezone, translation
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from storage.back_office.role_texts import role_names
from storage.models import StaffAccount

NOTHING = "–"
SOON = 60


def badge(text: str, kind: str = "", title: str = "") -> SafeString:
    """Return a badge; `kind` is info, success, warning, danger, primary or empty, as in unfold."""
    return format_html(_label(kind, is_titled=bool(title)), text=text, title=title)


@cache
def _label(kind: str, *, is_titled: bool) -> str:
    """Return the markup of a badge as a format string. It is rendered once, because lists show many badges."""
    context = {"text": SafeString("{text}"), "type": kind, "label_title": SafeString("{title}" * is_titled)}
    return render_to_string("unfold/helpers/label.html", context).strip()


def badges(found: Iterable[SafeString]) -> SafeString:
    parts = list(found)
    if not parts:
        return SafeString(NOTHING)
    return format_html('<span class="access-badges">{}</span>', format_html_join("", "{}", ((each,) for each in parts)))


def two_lines(first: str, second: str) -> SafeString:
    return format_html('<span class="block">{}</span><span class="access-second-line">{}</span>', first, second)


def account_badges(account: StaffAccount) -> list[SafeString]:
    found = [badge(_("Site administrator"), "info")] if account.is_superuser else []
    if not account.is_active or not account.is_staff:
        found.append(badge(_("Cannot sign in"), "danger"))
    return found


def role_badges(roles: Iterable[str]) -> SafeString:
    return badges(badge(name) for name in role_names(roles))


def moment(instant: datetime | None) -> str:
    """Return a time in the time zone of the page."""
    if instant is None:
        return NOTHING
    return formats.date_format(timezone.localtime(instant), "SHORT_DATETIME_FORMAT")


def ago(instant: datetime | None, never: str = NOTHING) -> SafeString:
    """Return a relative time, with the exact time as a tooltip."""
    if instant is None:
        return format_html("{}", never)
    now = timezone.now()
    is_now = (now - instant).total_seconds() < SOON
    # Django's naturaltime writes "1 Tage her".
    locale = translation.to_locale(translation.get_language() or "en")
    text = _("just now") if is_now else format_timedelta(instant - now, add_direction=True, locale=locale)
    return format_html(
        '<time datetime="{}" title="{}" class="whitespace-nowrap">{}</time>', instant.isoformat(), moment(instant), text
    )


def number(value: int | None) -> str:
    return NOTHING if value is None else formats.number_format(value, use_l10n=True, force_grouping=True)


def size(value: int | None) -> str:
    return NOTHING if value is None else str(filesizeformat(value))
