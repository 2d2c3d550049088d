"""What must be filled in before a version goes on (D22): every finding, whether it forbids or only warns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from elements.derived import STAMPS, STEREOTYPE
from elements.reading.assembly.attributes import read_exactly
from facets.blueprint.cycles import Category, Severity, Transition, ValidationRule
from facets.blueprint.definitions import Property
from facets.blueprint.texts import Texts
from release.steps.holding import Life
from repository_site.core.problems import Invalid, Warned
from repository_site.core.wording import listed
from storage.localisation.cultures import (
    ENGLISH_CULTURE,
    INVARIANT_CULTURE,
    CultureSet,
    fallback_culture,
    preferred_culture,
)


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    text: str


def check(life: Life, transition: Transition, now: datetime, *, ignore_warnings: bool, languages: str) -> list[str]:
    """The warnings that were ignored. Errors always forbid, and then the warnings are told, too; `languages` are those
    that the caller prefers, as in Accept-Language."""
    found = list(find(life, transition, now, languages))
    texts = {each: [one.text for one in found if one.severity is each] for each in Severity}
    errors, warnings = texts[Severity.ERROR], texts[Severity.WARNING]
    if errors:
        counts = [_errors(errors), *([_warnings(warnings)] if warnings else [])]
        raise Invalid(_("The element has %(counts)s.") % {"counts": listed(counts, _("and"))}, errors + warnings)
    if warnings and not ignore_warnings:
        raise Warned(_("The element has %(counts)s.") % {"counts": _warnings(warnings)}, warnings)
    # The log is for everybody, so it has them in one language.
    return [each.text for each in find(life, transition, now)] if warnings else []


def _errors(texts: list[str]) -> str:
    return ngettext("%(count)d error", "%(count)d errors", len(texts)) % {"count": len(texts)}


def _warnings(texts: list[str]) -> str:
    return ngettext("%(count)d warning", "%(count)d warnings", len(texts)) % {"count": len(texts)}


def find(life: Life, transition: Transition, now: datetime, languages: str = "") -> Iterator[Finding]:
    """In the order of the rules."""
    properties = {each.key: each for each in life.type.properties}
    attributes = read_exactly(life.row.attributes)
    for rule in life.configuration.blueprint.rules:
        guards = transition.target in rule.states or transition.key in rule.transitions
        if guards and rule.property in properties:
            message = _message(rule.messages, life.configuration.cultures, languages)
            for place in _missing(life, rule, properties[rule.property], attributes):
                yield Finding(rule.severity, f"{life.label}: {message} ({place}).")
    cycle = life.cycle
    if cycle is not None and cycle.categories[transition.target] is Category.PUBLISHED and not transition.task:
        yield from _ended(life, now)


def _ended(life: Life, now: datetime) -> Iterator[Finding]:
    """No rule of the configuration: the clock would take back at once what somebody has just published."""
    begin, end = life.row.valid_from or now, life.row.valid_until
    if end is not None and end <= max(begin, now):
        text = _("the end of its validity has passed") if end <= now else _("its validity ends before it begins")
        yield Finding(Severity.ERROR, f"{life.label}: {text} (validUntil).")


def _missing(
    life: Life, rule: ValidationRule, property: Property, attributes: dict[str, dict[str, Any]]
) -> Iterator[str]:
    """The places where something should be and is not."""
    key = property.key
    if property.related:
        if not life.related.get(key):
            yield key
    elif key == STEREOTYPE:
        if not life.row.stereotype.strip():
            yield key
    elif key in STAMPS:
        if getattr(life.row, STAMPS[key]) is None:
            yield key
    elif rule.per_culture and property.attribute and not property.attribute.is_invariant_culture:
        values = attributes.get(key, {})
        for lcid in life.configuration.cultures.mandatory:
            if _is_blank(values.get(str(lcid))):
                yield f"{key}[{lcid}]"
    else:
        values, cultures = attributes.get(key, {}), (INVARIANT_CULTURE, *life.configuration.cultures.data)
        if all(_is_blank(values.get(str(lcid))) for lcid in cultures):
            yield key


def _is_blank(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def _message(messages: Texts, cultures: CultureSet, languages: str) -> str:
    """Return the message in a culture that the caller prefers, else in English as all messages are (D40)."""
    texts = dict(messages)
    lcid = fallback_culture(preferred_culture(languages, cultures.data, ENGLISH_CULTURE), texts, cultures)
    return (_("a value is missing") if lcid is None else texts[lcid]).rstrip(".")
