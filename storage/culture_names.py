"""Cultures as people call them: the language in its own words, with the region where two share a language."""

from __future__ import annotations

from collections.abc import Sequence

from babel import Locale, UnknownLocaleError

from storage.cultures import language_of, locale_name


def language_names(cultures: Sequence[int]) -> dict[int, str]:
    languages = [language_of(lcid) for lcid in cultures]
    return {lcid: _own_name(lcid, with_region=languages.count(language_of(lcid)) > 1) for lcid in cultures}


def language_tag(lcid: int) -> str:
    """For `lang`, such as de-DE."""
    return (locale_name(lcid) or "").partition("@")[0].replace("_", "-")


def _own_name(lcid: int, *, with_region: bool) -> str:
    """Windows knows some cultures that nobody else has a name for."""
    for name in (locale_name(lcid) or "", language_of(lcid)):
        try:
            locale = Locale.parse(name)
        except (UnknownLocaleError, ValueError):
            continue
        found = locale.get_display_name(locale) if with_region else locale.get_language_name(locale)
        if found:
            return found[:1].upper() + found[1:]
    return language_tag(lcid) or str(lcid)
