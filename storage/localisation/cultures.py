"""Culture ids (Windows LCIDs), their languages, and the culture whose text a reader is shown."""

from __future__ import annotations

import locale
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation.trans_real import parse_accept_lang_header

INVARIANT_CULTURE = 127
ENGLISH_CULTURE = 1033


class CultureProblem(ValueError):
    """An invalid set of cultures; the message says how to correct it."""


@dataclass(frozen=True, slots=True)
class CultureSet:
    """The data cultures of a storage in their order, the default one, and those that content must be given in."""

    data: tuple[int, ...]
    default: int
    mandatory: tuple[int, ...]

    @property
    def optional(self) -> tuple[int, ...]:
        return tuple(lcid for lcid in self.data if lcid not in self.mandatory)


def locale_name(lcid: int) -> str | None:
    """Return the locale of a culture id, such as de_DE for 1031; None for an unknown id."""
    return locale.windows_locale.get(lcid)


def language_of(lcid: int) -> str:
    """Return the language of a culture, such as de for 1031; empty for an unknown id."""
    return (locale_name(lcid) or "").partition("_")[0]


def culture_set(data: Sequence[int], default: int | None = None, mandatory: Sequence[int] | None = None) -> CultureSet:
    """Check the cultures of a storage. The default is the first one unless given; so is the only mandatory one."""
    if not data:
        raise CultureProblem(_("a storage needs at least one data culture, such as 1033"))
    if len(set(data)) != len(data):
        raise CultureProblem(_("a data culture occurs twice"))
    for lcid in data:
        if locale_name(lcid) is None:
            text = _("%(id)s is not a culture id; use for example 1031 (German) or 1033 (English)")
            raise CultureProblem(text % {"id": lcid})
    chosen = data[0] if default is None else default
    if chosen not in data:
        raise CultureProblem(_("the default culture %(id)s is not among the data cultures") % {"id": chosen})
    needed = (chosen,) if mandatory is None else tuple(mandatory)
    for lcid in needed:
        if lcid not in data:
            raise CultureProblem(_("the mandatory culture %(id)s is not among the data cultures") % {"id": lcid})
    return CultureSet(tuple(data), chosen, tuple(lcid for lcid in data if lcid in needed))


def preferred_culture(accept_language: str, cultures: Sequence[int], default: int) -> int:
    """Return the one of these cultures that `Accept-Language` prefers, else the default (D5).

    A culture with the region that the client asks for goes before others of the same language.
    """
    names = {lcid: (locale_name(lcid) or "").replace("_", "-").lower() for lcid in cultures}
    for language, weight in parse_accept_lang_header(accept_language[:500]):
        if weight <= 0:
            continue
        alike = [lcid for lcid in cultures if names[lcid].partition("-")[0] == language.partition("-")[0]]
        exact = [lcid for lcid in alike if names[lcid] == language]
        if alike:
            return (exact or alike)[0]
    return default


def fallback_order(lcid: int, cultures: CultureSet) -> tuple[int, ...]:
    """Return all data cultures in the order in which they stand in for one of them (D40, D482)."""
    found: dict[int, None] = {}
    for wanted in (lcid, cultures.default, *cultures.data):
        language = language_of(wanted)
        alike = sorted(each for each in cultures.data if language and language_of(each) == language)
        found.update(dict.fromkeys((wanted, *alike)))
    return tuple(found)


def fallback_culture(lcid: int, known: Collection[int], cultures: CultureSet) -> int | None:
    """Choose the one of the `known` cultures whose text is shown to readers of a culture (D40); None to show the key.

    The order is: the culture itself, its language, the default culture, the storage's other cultures, English. A text
    in any other language would be foreign to every reader of the storage.
    """
    for wanted in (lcid, cultures.default, *cultures.data, ENGLISH_CULTURE):
        if wanted in known:
            return wanted
        language = language_of(wanted)
        alike = [other for other in known if language and language_of(other) == language]
        if alike:
            return min(alike)
    return None
