"""Attributes and related contexts of a request against the type configuration and what is stored (D15, D16)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from elements import derived
from elements.related_contexts import accepts
from elements.values.checking import MAX_INTEGER, NoInstant, instant_of, no_date_time, read_date_time, value_problem
from elements.values.html import html_value
from elements.writing.changes import Change
from elements.writing.findings import Findings, Kind
from elements.writing.inputs import ReferenceInput
from elements.writing.stored import Target
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType, Property, Related
from facets.configuration import Configuration
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.rendering import canonical_json
from repository_site.core.wording import listed, printable
from storage.localisation.cultures import INVARIANT_CULTURE

INVARIANT = str(INVARIANT_CULTURE)
# Date-times that are columns of a version and still the client's to set.
VALIDITY = {"validFrom": "valid_from", "validUntil": "valid_until"}
STEREOTYPE_LENGTH = 200

# Makes the element that a reference describes, and answers its id; None when that is not possible.
Maker = Callable[[ReferenceInput, ElementType], str | None]


class PropertyChecker:
    """For one request. Everything that is wrong joins the findings; what is right joins the change."""

    def __init__(self, configuration: Configuration, zone: ZoneInfo, findings: Findings) -> None:
        self.configuration = configuration
        self.zone = zone
        self.findings = findings
        self.cultures = {str(lcid) for lcid in configuration.cultures.data}

    def set_stereotype(self, change: Change, given: str | None, attributes: dict[str, dict[str, Any]]) -> None:
        """It stands in an element twice, as a field and as an attribute, where null removes it; the one that differs is
        meant."""
        place = f"{change.place}: {derived.STEREOTYPE}"
        wanted: list[Any] = [] if given is None else [given]
        if any(each.key == derived.STEREOTYPE and each.attribute for each in change.type.properties):
            for culture, value in attributes.pop(derived.STEREOTYPE, {}).items():
                if culture == INVARIANT:
                    wanted.append("" if value is None else value)
                else:
                    self._wrong_culture(f"{place}[{printable(culture, 20)}]", {INVARIANT})
        wanted = [each for each in wanted if each != change.stereotype]
        if not wanted:
            return
        new = wanted[-1]
        if not isinstance(new, str) or len(new) > STEREOTYPE_LENGTH or not new.isprintable():
            self.invalid(place, _("must be a single line of up to %(limit)d characters") % {"limit": STEREOTYPE_LENGTH})
            return
        if wanted[0] != new:
            self.invalid(place, _("the field and the attribute differ; give one of them"))
            return
        change.note(derived.STEREOTYPE, None, change.stereotype or None, new or None)
        change.changed.add(derived.STEREOTYPE)
        change.stereotype = new

    def merge_attributes(self, change: Change, given: Mapping[str, Mapping[str, Any]]) -> None:
        """By name and culture; null removes a value, and what is not named stays."""
        known = {each.key: each for each in change.type.properties if each.attribute}
        for name, values in given.items():
            place = f"{change.place}: {printable(name, 100)}"
            if name in known:
                for culture, value in values.items():
                    self._set_value(change, known[name], culture, value, f"{place}[{printable(culture, 20)}]")
            else:
                self.invalid(
                    place,
                    _("the type %(type)s has no such attribute") % {"type": change.type.key} + _similar(name, known),
                )

    def _set_value(self, change: Change, property: Property, culture: str, value: Any, place: str) -> None:
        attribute = property.attribute
        if attribute is None:
            return
        allowed = {INVARIANT} if attribute.is_invariant_culture else self.cultures
        if culture not in allowed:
            self._wrong_culture(place, allowed)
            return
        if property.key in VALIDITY:
            self._set_validity(change, property.key, value, place)
            return
        new = _normal(attribute, value)
        values = change.attributes.get(property.key, {})
        old = values.get(culture)
        if canonical_json(old) == canonical_json(new):
            # What is stored may stay, whatever the configuration says by now.
            return
        if new is not None and (problem := value_problem(attribute, new)):
            self.invalid(place, problem)
            return
        change.changed.add(property.key)
        change.note("attributes", f"{property.key}[{culture}]", old, new)
        changed = {lcid: each for lcid, each in {**values, culture: new}.items() if each is not None}
        if changed:
            change.attributes[property.key] = changed
        else:
            change.attributes.pop(property.key, None)

    def _set_validity(self, change: Change, name: str, value: Any, place: str) -> None:
        new: datetime | None = None
        if value is not None:
            local = read_date_time(value)
            if local is None:
                self.invalid(place, no_date_time())
                return
            try:
                new = instant_of(local, self.zone)
            except NoInstant as problem:
                self.invalid(place, str(problem))
                return
        old: datetime | None = getattr(change, VALIDITY[name])
        if old != new:
            change.changed.add(name)
            shown = [wire_datetime(each, self.zone) if each else None for each in (old, new)]
            change.note("attributes", f"{name}[{INVARIANT}]", *shown)
            setattr(change, VALIDITY[name], new)

    def set_contexts(
        self,
        change: Change,
        given: Mapping[str, Sequence[ReferenceInput]],
        stored: Mapping[str, Sequence[str]],
        targets: Mapping[str, Target],
        make: Maker,
    ) -> None:
        """A context that is given replaces the list of that context."""
        known = {each.key: each.related for each in change.type.properties if each.related}
        for name, references in given.items():
            place = f"{change.place}: {printable(name, 100)}"
            related = known.get(name)
            if related is None:
                text = _("the type %(type)s has no such related context") % {"type": change.type.key}
                self.invalid(place, text + _similar(name, known))
                continue
            old = list(stored.get(name, ()))
            if [each.id for each in references] == old:
                # What is stored may stay, whatever the configuration says by now; but what is said of it must be so.
                for each in references:
                    self.named_target(each, targets)
                continue
            if len(references) > related.max_occurrence:
                words = {"count": len(references), "most": related.max_occurrence}
                self.invalid(place, _("%(count)d references; at most %(most)d are possible") % words)
            found = [self._target(each, name, related, targets, make) for each in references]
            wanted = [each for each in found if each is not None]
            if len(wanted) == len(references) and wanted != old:
                if related.read_only:
                    self.invalid(place, _("is read-only"))
                change.related[name] = wanted
                change.changed.add(name)
                change.note("related", name, old, wanted)

    def _target(
        self,
        reference: ReferenceInput,
        context: str,
        related: Related,
        targets: Mapping[str, Target],
        make: Maker,
    ) -> str | None:
        if not reference.names_something:
            return self._new_target(reference, context, related, make)
        target = self.named_target(reference, targets)
        if target is None:
            return None
        type = self.type_of(target)
        if not accepts(context, related, type):
            words = {"id": target.element, "type": type.key, "expected": _expected(related)}
            self.invalid(reference.place, _("%(id)s is a %(type)s; expected %(expected)s") % words)
            return None
        return target.element

    def named_target(self, reference: ReferenceInput, targets: Mapping[str, Target]) -> Target | None:
        """The element that a reference names, when there is one and it is what the reference says. A reference leads
        to an element; which of its versions it named when it was read does not matter."""
        named = reference.id or reference.version or ""
        target = targets.get(named)
        if target is None:
            text = _("there is no element %(id)s") % {"id": named} if named else _("expected the id of an element")
            self.invalid(reference.place, text)
            return None
        type = self.type_of(target)
        if not is_named(type.key, reference.type):
            words = {"id": named, "type": type.key, "wrong": printable(reference.type or "", 100)}
            self.invalid(reference.place, _("%(id)s is a %(type)s, not a %(wrong)s") % words)
            return None
        if not is_named(type.facet, reference.facet):
            words = {"id": named, "facet": type.facet, "wrong": printable(reference.facet or "", 100)}
            self.invalid(reference.place, _("%(id)s is in the facet %(facet)s, not %(wrong)s") % words)
            return None
        return target

    def _new_target(self, reference: ReferenceInput, context: str, related: Related, make: Maker) -> str | None:
        if not related.can_add_new:
            self.invalid(reference.place, _("expected the id of an element; none can be made here"))
            return None
        type = self.type_called(reference.type)
        if type is None or not accepts(context, related, type):
            text = _("expected an id, or the type of a new element: %(expected)s")
            self.invalid(reference.place, text % {"expected": _expected(related)})
            return None
        if reference.attributes is None:
            self.invalid(reference.place, _("a new element needs attributes"))
            return None
        return make(reference, type)

    def type_called(self, name: str | None) -> ElementType | None:
        """Ignoring letter case (D1)."""
        types = self.configuration.types
        folded = self.configuration.keep("folded types", lambda: {key.casefold(): type for key, type in types.items()})
        return folded.get(name.casefold()) if name is not None else None

    def type_of(self, target: Target) -> ElementType:
        return self.types[target.type]

    @property
    def types(self) -> Mapping[str, ElementType]:
        return self.configuration.types_by_id

    def _wrong_culture(self, place: str, allowed: Collection[str]) -> None:
        words = {"known": listed(sorted(allowed), _("and"))}
        self.invalid(place, _("the culture is not possible here; possible: %(known)s") % words)

    def invalid(self, place: str, text: str) -> None:
        self.findings.add(Kind.INVALID, place, text)


def _normal(attribute: Attribute, value: Any) -> Any:
    """As it is kept: Html with its declaration, date-times without what is not kept of their fraction, whole numbers of
    more than 64 bits as decimals, which can be written as JSON."""
    if attribute.data_type is DataType.HTML and isinstance(value, str):
        return html_value(value)
    if attribute.data_type is DataType.DATE_TIME and (moment := read_date_time(value)) is not None:
        text = moment.isoformat()
        return text.rstrip("0") if "." in text else text
    if attribute.data_type is DataType.DECIMAL and isinstance(value, int) and abs(value) > MAX_INTEGER:
        return Decimal(value)
    return value


def is_named(name: str, given: str | None) -> bool:
    """Whether a name that may be left out is this one, ignoring letter case (D1)."""
    return given is None or given.casefold() == name.casefold()


def _similar(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return _("; similar: %(name)s") % {"name": near[0]} if near else ""


def _expected(related: Related) -> str:
    if related.types:
        return listed(related.types, _("or"))
    return _("a type of the facet %(facet)s") % {"facet": related.facet}
