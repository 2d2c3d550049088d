"""Culture ids (Windows LCIDs) and the languages they stand for."""

from __future__ import annotations

import locale
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation.trans_real import parse_accept_lang_header

INVARIANT_CULTURE = 127


class CultureProblem(ValueError):
    """A set of cultures that cannot be used; the message says what would be right."""


@dataclass(frozen=True, slots=True)
class CultureSet:
    """The data cultures of a storage in order, which one is the default, and which must be filled."""

    data: tuple[int, ...]
    default: int
    mandatory: tuple[int, ...]

    @property
    def optional(self) -> tuple[int, ...]:
        return tuple(lcid for lcid in self.data if lcid not in self.mandatory)


def locale_name(lcid: int) -> str | None:
    """The locale behind an id, such as de_DE for 1031; None when there is none."""
    return locale.windows_locale.get(lcid)


def language_of(lcid: int) -> str:
    return (locale_name(lcid) or "").partition("_")[0]


def culture_set(data: Sequence[int], default: int | None = None, mandatory: Sequence[int] | None = None) -> CultureSet:
    """Check cultures as given; the first is the default, and the default is mandatory, unless said otherwise."""
    if not data:
        raise CultureProblem(_("a storage needs at least one data culture, such as 1033"))
    if len(set(data)) != len(data):
        raise CultureProblem(_("a data culture is named twice"))
    for lcid in data:
        if locale_name(lcid) is None:
            text = _("%(id)s is no culture id; for example 1031 is German, 1033 English")
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
    """Of the given cultures the one that `Accept-Language` prefers, else the default (D5).

    For each language asked for, its own region first, then any culture of that language.
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
