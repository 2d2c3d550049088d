"""Cultures as people see them: names, language tags for browsers, and formats of dates and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from babel import Locale, UnknownLocaleError
from django.conf import settings

from storage.localisation.cultures import language_of, locale_name

ENGLISH = "en"


def language_tag(lcid: int) -> str:
    """Return the tag for `lang` and `hreflang`, such as de-DE; empty for a culture without a language."""
    return (locale_name(lcid) or "").partition("@")[0].replace("_", "-")


def interface_language(lcid: int) -> str:
    """Return the language of the user interface for a culture: its own if there is a translation, else English."""
    language = language_of(lcid)
    return language if language in dict(settings.LANGUAGES) else ENGLISH


@cache
def writing(lcid: int) -> Locale:
    """Return the locale for dates and numbers; CLDR lacks some cultures of Windows."""
    for name in (locale_name(lcid) or "", language_of(lcid)):
        try:
            return Locale.parse(name)
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(ENGLISH)


def language_names(cultures: Sequence[int]) -> dict[int, str]:
    """Return the name of each culture in its own language, with the region if two of them share a language."""
    languages = [language_of(lcid) for lcid in cultures]
    return {lcid: _own_name(lcid, with_region=languages.count(language_of(lcid)) > 1) for lcid in cultures}


def _own_name(lcid: int, *, with_region: bool) -> str:
    locale = writing(lcid)
    if not locale_name(lcid) or locale.language != language_of(lcid):
        return language_tag(lcid) or str(lcid)
    name = locale.get_display_name(locale) if with_region else locale.get_language_name(locale)
    return name[:1].upper() + name[1:] if name else language_tag(lcid)
