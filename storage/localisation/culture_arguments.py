"""Cultures as people type them on the command line: language tags such as `de` and `en-GB`, or LCIDs such as 1031."""

from __future__ import annotations

import argparse
import locale
from difflib import get_close_matches

# Windows knows two ids of es-ES; this one sorts as Spanish has been sorted since 1994.
MODERN_SPANISH = 3082
MOST_SIMILAR = 5


def culture_argument(text: str) -> int:
    """Return the LCID of a language tag or a number, for `add_argument(type=...)`."""
    wanted = text.strip()
    if wanted.isdigit() and int(wanted) in locale.windows_locale:
        return int(wanted)
    tag = wanted.replace("_", "-").lower()
    found = [lcid for lcid, name in known_tags().items() if name.lower() == tag] or _of_language(tag)
    if not found:
        raise argparse.ArgumentTypeError(_refusal(wanted))
    return MODERN_SPANISH if MODERN_SPANISH in found else min(found)


def cultures_argument(text: str) -> list[int]:
    return [culture_argument(part) for part in text.split(",")]


def known_tags() -> dict[int, str]:
    """Return the language tag of each LCID, such as de-DE for 1031."""
    return {lcid: name.replace("_", "-") for lcid, name in locale.windows_locale.items()}


def english_name(lcid: int) -> str:
    """Return the English name of a culture, such as "German (Germany)"."""
    from babel import Locale, UnknownLocaleError

    name = locale.windows_locale[lcid]
    try:
        return Locale.parse(name).get_display_name("en") or name
    except (UnknownLocaleError, ValueError):
        return name.replace("_", "-")


def _of_language(language: str) -> list[int]:
    """Return the culture of the region where most people use a language, else all cultures of the language."""
    from babel.core import get_global

    likely = str(get_global("likely_subtags").get(language, "")).rpartition("_")[2]
    alike = {lcid: tag for lcid, tag in known_tags().items() if tag.partition("-")[0] == language}
    return [lcid for lcid, tag in alike.items() if tag == f"{language}-{likely}"] or list(alike)


def _refusal(wanted: str) -> str:
    text = f"{wanted!r} is not a culture; give language tags such as de, en-GB or fr, or LCIDs such as 1031."
    similar = ", ".join(f"{known_tags()[lcid]} ({lcid})" for lcid in _similar(wanted))
    return f"{text}{f' Similar: {similar}.' if similar else ''} manage.py list_cultures lists all."


def _similar(wanted: str) -> list[int]:
    """Return cultures whose English name contains the text, or whose tag is spelled alike."""
    names = {lcid: english_name(lcid).lower() for lcid in locale.windows_locale}
    named = sorted(lcid for lcid, name in names.items() if len(wanted) > 2 and name.startswith(wanted.lower()))
    tags = {tag.lower(): lcid for lcid, tag in known_tags().items()}
    alike = [lcid for tag, lcid in tags.items() if tag.partition("-")[0] == wanted.partition("-")[0].lower()]
    spelled = [tags[tag] for tag in get_close_matches(wanted.replace("_", "-").lower(), tags, MOST_SIMILAR, 0.7)]
    return list(dict.fromkeys([*named, *alike, *spelled]))[:MOST_SIMILAR]
