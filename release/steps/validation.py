"""Validation of a version before a transition (D22): findings are errors, which forbid it, or warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from elements.derived import STAMPS, STEREOTYPE
from elements.reading.assembly.attributes import read_exactly
from elements.values.checking import is_empty
from facets.blueprint.cycles import Category, Severity, Transition, ValidationRule
from facets.blueprint.definitions import Property
from facets.blueprint.texts import Texts
from release.steps.locking import LifecycleVersion
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
class ValidationFinding:
    severity: Severity
    text: str


def check(
    current: LifecycleVersion, transition: Transition, now: datetime, *, ignore_warnings: bool, languages: str
) -> list[str]:
    """Raise the findings, or return the ignored warnings.

    Errors always forbid the transition and are raised together with the warnings. `languages` are those that the
    caller prefers, as in Accept-Language.
    """
    found = list(find(current, transition, now, languages))
    texts = {each: [one.text for one in found if one.severity is each] for each in Severity}
    errors, warnings = texts[Severity.ERROR], texts[Severity.WARNING]
    if errors:
        count = ngettext("%(count)d error", "%(count)d errors", len(errors)) % {"count": len(errors)}
        counts = [count, *([_warnings(warnings)] if warnings else [])]
        raise Invalid(_("The element has %(counts)s.") % {"counts": listed(counts, _("and"))}, errors + warnings)
    if warnings and not ignore_warnings:
        raise Warned(_("The element has %(counts)s.") % {"counts": _warnings(warnings)}, warnings)
    # The log has the warnings in one language, whatever the caller prefers.
    return [each.text for each in find(current, transition, now)] if warnings else []


def _warnings(texts: list[str]) -> str:
    return ngettext("%(count)d warning", "%(count)d warnings", len(texts)) % {"count": len(texts)}


def find(
    current: LifecycleVersion, transition: Transition, now: datetime, languages: str = ""
) -> Iterator[ValidationFinding]:
    properties = {each.key: each for each in current.type.properties}
    attributes = read_exactly(current.row.attributes)
    for rule in current.configuration.blueprint.rules:
        guards = transition.target in rule.states or transition.key in rule.transitions
        if guards and rule.property in properties:
            message = _message(rule.messages, current.configuration.cultures, languages)
            for place in _missing(current, rule, properties[rule.property], attributes):
                yield ValidationFinding(rule.severity, f"{current.label}: {message} ({place}).")
    cycle = current.cycle
    if cycle is not None and cycle.categories[transition.target] is Category.PUBLISHED and not transition.task:
        yield from _ended(current, now)


def _ended(current: LifecycleVersion, now: datetime) -> Iterator[ValidationFinding]:
    """Find a version that the scheduled jobs would expire at once. This needs no configured rule."""
    begin, end = current.row.valid_from or now, current.row.valid_until
    if end is not None and end <= max(begin, now):
        text = _("the end of its validity has passed") if end <= now else _("its validity ends before it begins")
        yield ValidationFinding(Severity.ERROR, f"{current.label}: {text} (validUntil).")


def _missing(
    current: LifecycleVersion, rule: ValidationRule, property: Property, attributes: dict[str, dict[str, Any]]
) -> Iterator[str]:
    key = property.key
    if property.related:
        if not current.related.get(key):
            yield key
    elif key == STEREOTYPE:
        if not current.row.stereotype.strip():
            yield key
    elif key in STAMPS:
        if getattr(current.row, STAMPS[key]) is None:
            yield key
    elif rule.per_culture and property.attribute and not property.attribute.is_invariant_culture:
        values = attributes.get(key, {})
        for lcid in current.configuration.cultures.mandatory:
            if is_empty(values.get(str(lcid))):
                yield f"{key}[{lcid}]"
    else:
        values, cultures = attributes.get(key, {}), (INVARIANT_CULTURE, *current.configuration.cultures.data)
        if all(is_empty(values.get(str(lcid))) for lcid in cultures):
            yield key


def _message(messages: Texts, cultures: CultureSet, languages: str) -> str:
    """Return the message in a culture that the caller prefers, else in English as all messages are (D40)."""
    texts = dict(messages)
    lcid = fallback_culture(preferred_culture(languages, cultures.data, ENGLISH_CULTURE), texts, cultures)
    return (_("a value is missing") if lcid is None else texts[lcid]).rstrip(".")
