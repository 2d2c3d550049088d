"""Decisions about attributes and the stereotype, by the type configuration and the stored values (D15, D16)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from elements import derived
from elements.sizes.limits import ATTRIBUTES, VALUE
from elements.values.checking import MAX_INTEGER, NoInstant, instant_of, no_date_time, read_date_time, value_problem
from elements.values.files import stored_files
from elements.values.html import html_value
from elements.writing.findings import Findings, Refusal, invalid
from elements.writing.planned_changes import VALIDITY, PlannedChange
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute
from facets.configuration import Configuration
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.rendering import canonical_json, to_json
from repository_site.core.wording import listed, printable
from storage.localisation.cultures import INVARIANT_CULTURE

INVARIANT = str(INVARIANT_CULTURE)
STEREOTYPE_LENGTH = 200


class AttributeRules:
    def __init__(self, configuration: Configuration, zone: ZoneInfo, findings: Findings) -> None:
        self.zone = zone
        self.findings = findings
        self.cultures = {str(lcid) for lcid in configuration.cultures.data}

    def apply(self, change: PlannedChange, stereotype: str | None, attributes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set the stereotype, and merge attributes by name and culture: null removes a value, other values stay."""
        known = {each.key: each.attribute for each in change.type.properties if each.attribute}
        has_stereotype = derived.STEREOTYPE in known
        given = attributes.get(derived.STEREOTYPE, {}) if has_stereotype else {}
        self.findings.attempt(self._set_stereotype, change, stereotype, given)
        for name, values in attributes.items():
            place = f"{change.place}: {printable(name, 100)}"
            if name == derived.STEREOTYPE and has_stereotype:
                continue
            if name in known:
                for culture, value in values.items():
                    try:
                        self._set_value(change, name, known[name], culture, value, place)
                    except Refusal as refusal:
                        self.findings.note(refusal)
            else:
                text = _("the type %(type)s has no such attribute") % {"type": change.type.key}
                self.findings.note(invalid(place, text + self.findings.hint(name, known)))
        if change.growth > 0 and (problem := _size_problem(change)):
            self.findings.note(invalid(f"{change.place}: attributes", problem))

    def _set_stereotype(self, change: PlannedChange, field: str | None, attribute: Mapping[str, Any]) -> None:
        """A stereotype is a field and an attribute of an element, where null removes it. Clients that read an element
        and change one of the two mean the one that differs from the stored value."""
        place = f"{change.place}: {derived.STEREOTYPE}"
        wanted: list[Any] = [] if field is None else [field]
        for culture, value in attribute.items():
            if culture == INVARIANT:
                wanted.append("" if value is None else value)
            else:
                self.findings.note(_wrong_culture(place, culture, {INVARIANT}))
        wanted = [each for each in wanted if each != change.stereotype]
        if not wanted:
            return
        new = wanted[-1]
        if not isinstance(new, str) or len(new) > STEREOTYPE_LENGTH or not new.isprintable():
            text = _("must be a single line of up to %(limit)d characters") % {"limit": STEREOTYPE_LENGTH}
            raise invalid(place, text)
        if wanted[0] != new:
            raise invalid(place, _("the field and the attribute differ; send only one of them"))
        change.note(derived.STEREOTYPE, None, change.stereotype or None, new or None)
        change.changed.add(derived.STEREOTYPE)
        change.stereotype = new

    def _set_value(
        self, change: PlannedChange, name: str, attribute: Attribute, culture: str, value: Any, attribute_place: str
    ) -> None:
        allowed = {INVARIANT} if attribute.is_invariant_culture else self.cultures
        if culture not in allowed:
            raise _wrong_culture(attribute_place, culture, allowed)
        place = f"{attribute_place}[{culture}]"
        if name in VALIDITY:
            self._set_validity(change, name, value, place)
            return
        values = change.attributes.get(name, {})
        old = values.get(culture)
        new = _normal(attribute, value, old)
        written_old, written_new = canonical_json(old), canonical_json(new)
        if written_old == written_new:
            # A stored value may stay even if the configuration no longer allows it.
            return
        # Before the value itself is checked, which takes longer the larger it is.
        if problem := VALUE.problem(len(written_new), len(written_old)):
            raise invalid(place, problem)
        if new is not None and (problem := value_problem(attribute, new)):
            raise invalid(place, problem)
        change.growth += (0 if new is None else len(written_new)) - (0 if old is None else len(written_old))
        change.changed.add(name)
        change.note("attributes", f"{name}[{culture}]", old, new)
        changed = {lcid: each for lcid, each in {**values, culture: new}.items() if each is not None}
        if changed:
            change.attributes[name] = changed
        else:
            change.attributes.pop(name, None)

    def _set_validity(self, change: PlannedChange, name: str, value: Any, place: str) -> None:
        old: datetime | None = getattr(change, VALIDITY[name])
        new = None if value is None else self._instant(value, place)
        if old != new:
            change.changed.add(name)
            shown = [wire_datetime(each, self.zone) if each else None for each in (old, new)]
            change.note("attributes", f"{name}[{INVARIANT}]", *shown)
            setattr(change, VALIDITY[name], new)

    def _instant(self, value: Any, place: str) -> datetime:
        local = read_date_time(value)
        if local is None:
            raise invalid(place, no_date_time())
        try:
            return instant_of(local, self.zone)
        except NoInstant as problem:
            raise invalid(place, str(problem)) from None


def _size_problem(change: PlannedChange) -> str | None:
    before = len(change.row.attributes or "") if change.row else 0
    # Most changes are far from the limit, so nothing has to be written to learn the size.
    if not ATTRIBUTES.problem(before * 4 + change.growth):
        return None
    after = len(to_json(change.attributes))
    return ATTRIBUTES.problem(after, after - change.growth)


def _wrong_culture(place: str, culture: str, allowed: Collection[str]) -> Refusal:
    words = {"known": listed(sorted(allowed), _("or"))}
    text = _("this culture is not allowed here; use %(known)s") % words
    return invalid(f"{place}[{printable(culture, 20)}]", text)


def _normal(attribute: Attribute, value: Any, old: Any) -> Any:
    """Return a value in its stored form: Html with its declaration, date-times without trailing zeros, files of the
    storage without their address, and integers of more than 64 bits as decimals, because the JSON writer refuses
    them."""
    if attribute.data_type is DataType.HTML and isinstance(value, str):
        return html_value(value)
    if attribute.data_type is DataType.DATE_TIME and (moment := read_date_time(value)) is not None:
        text = moment.isoformat()
        return text.rstrip("0") if "." in text else text
    if attribute.data_type is DataType.FILES and isinstance(value, list):
        return stored_files(value, old)
    if attribute.data_type is DataType.DECIMAL and isinstance(value, int) and abs(value) > MAX_INTEGER:
        return Decimal(value)
    return value
