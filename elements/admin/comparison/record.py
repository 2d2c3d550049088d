"""The change history of an element: who changed which values when, with the values before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.comparison.compared_rows import ComparedRow
from elements.admin.labels import OfficeLabels
from elements.admin.panels import ElementPage, Panel
from elements.comparing.differences import compare_texts
from elements.models import ElementChange
from elements.presentation.labels import Named, key_words
from elements.presentation.stereotypes import read_stereotypes
from elements.presentation.values import plain_value
from elements.reading.history import read_changes
from facets.blueprint.definitions import ElementType, Property
from repository_site.core.database.statements import fetch
from repository_site.core.matching import Effort
from repository_site.core.wording import GUID
from storage.access.staff import staff_names
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.pages import Fragment

PAGE_SIZE = 25
Action = ElementChange.Action
ACTIONS = {
    Action.CREATED: gettext_lazy("Created"),
    Action.UPDATED: gettext_lazy("Changed"),
    Action.DRAWN: gettext_lazy("Diagram changed"),
    Action.VERSIONED: gettext_lazy("New version"),
    Action.TRANSITIONED: gettext_lazy("State changed"),
    Action.DELETED: gettext_lazy("Deleted"),
}
VALID_UNTIL, COPIED_FROM, POSITION = "validUntil", "copiedFrom", "position"
MOMENTS = frozenset({"relOn", "validFrom", VALID_UNTIL})
PARTS = {
    "stereotype": gettext_lazy("Stereotype"),
    "parent": gettext_lazy("Parent"),
    POSITION: gettext_lazy("Position"),
    "state": gettext_lazy("State"),
    "version": gettext_lazy("Version"),
    "relOn": gettext_lazy("Released"),
    "validFrom": gettext_lazy("Valid from"),
    "validUntil": gettext_lazy("Valid until"),
    "type": gettext_lazy("Type"),
    COPIED_FROM: gettext_lazy("Copied from"),
    "shapes": gettext_lazy("Shapes"),
    "flows": gettext_lazy("Arrows"),
    "lanes": gettext_lazy("Lanes"),
    "elements": gettext_lazy("Elements"),
}


@dataclass(frozen=True, slots=True)
class RecordedChange:
    action: str
    changed_on: str
    person: Named | None
    caller: str
    request_id: str
    values: list[ComparedRow]
    is_too_large: bool
    """Whether the values are left out, because they are too large for the page."""


def record_panel(page: ElementPage) -> Fragment:
    given = page.request.GET.get("page", "1")
    number = max(1, int(given)) if given.isascii() and given.isdecimal() and len(given) < 6 else 1
    reader, offset = page.labels.reader, (number - 1) * PAGE_SIZE
    changes = read_changes(reader, page.row.element, PAGE_SIZE + 1, offset, leave_out=True)
    shown = changes[:PAGE_SIZE]
    documents = [each[side] or {} for each in shown for side in ("before", "after")]
    people = {each["changedBy"]["id"] for each in shown if "changedBy" in each}
    shapes = _read_shapes(documents)
    named = page.labels.elements({*people, *shapes.values(), *_ids(documents)})
    staff = staff_names(each["caller"] for each in shown)
    stereotypes = read_stereotypes(page.labels, (each.get("stereotype") or "" for each in documents))
    effort = Effort(settings.COMPARISON_EFFORT)
    sources = page.labels.versions({each[COPIED_FROM] for each in documents if COPIED_FROM in each})
    reading = _Reading(page.labels, page.type, named, sources, shapes, stereotypes, staff, effort)
    context = {
        "page": page,
        "changes": cache(lambda: [_change(reading, each) for each in shown]),
        "number": number,
        "previous": page.address(tab="record", page=str(number - 1)) if number > 1 else "",
        "next": page.address(tab="record", page=str(number + 1)) if len(changes) > PAGE_SIZE else "",
    }
    return Fragment("back_office/elements/record.html", context, page.request)


def _change(reading: _Reading, change: Mapping[str, Any]) -> RecordedChange:
    before, after = dict(reading.values(change["before"] or {})), dict(reading.values(change["after"] or {}))
    compared = [
        ComparedRow(
            label,
            compare_texts(before.get(label, ""), after.get(label, ""), reading.effort),
            is_hidden=before.get(label) == after.get(label) and change["action"] == Action.UPDATED,
        )
        for label in dict.fromkeys((*before, *after))
    ]
    return RecordedChange(
        str(ACTIONS[Action(change["action"])]),
        reading.labels.moment(datetime.fromisoformat(change["changedOn"]).replace(tzinfo=reading.labels.reader.zone)),
        reading.named.get(change.get("changedBy", {}).get("id", "")),
        reading.staff.get(change["caller"], change["caller"]),
        change["requestId"],
        compared,
        change["after"] is None,
    )


@dataclass(frozen=True)
class _Reading:
    labels: OfficeLabels
    type: ElementType
    named: Mapping[str, Named]
    sources: Mapping[str, Named]
    """Versions from which others were copied."""
    shapes: Mapping[str, str]
    """Elements by shape."""
    stereotypes: Mapping[str, str]
    staff: Mapping[str, str]
    effort: Effort

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        return {each.key: each for each in self.type.properties}

    def values(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the label and the text of each value, attributes first; a missing value has an empty text."""
        for part, value in sorted(document.items(), key=lambda item: item[0] != "attributes"):
            if part == "attributes":
                yield from self._attributes(value)
            elif part == "related":
                for context, targets in value.items():
                    yield self._label(context), ", ".join(self._name(each) for each in targets or ())
            elif part in ("shapes", "flows", "lanes", "elements"):
                yield str(PARTS[part]), "\n".join(self._drawn(each) for each in value or ())
            else:
                yield str(PARTS.get(part) or key_words(part)), self._part(part, value)

    def _part(self, part: str, value: Any) -> str:
        if part == POSITION and isinstance(value, int):
            return str(value + 1)
        if not isinstance(value, str):
            return self._text(value)
        labels, types = self.labels, self.labels.configuration.types
        if part == "state":
            return labels.state(self.type, value)
        if part == "type":
            return labels.type(types[value]) if value in types else key_words(value)
        if part == "stereotype":
            return self.stereotypes.get(value, value)
        if part == COPIED_FROM and value in self.sources and self.sources[value].number:
            return _("Version %(number)s") % {"number": self.sources[value].number}
        return self._moment(part, value) if part in MOMENTS else self._text(value)

    def _moment(self, part: str, value: str) -> str:
        """Values of the history are in the time zone of the storage, as in the API."""
        moment = datetime.fromisoformat(value).replace(tzinfo=self.labels.reader.zone)
        return self.labels.end(moment) if part == VALID_UNTIL else self.labels.moment(moment)

    def _attributes(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Changes have keys such as `name[1033]`; deletions have cultures below the name."""
        for key, value in document.items():
            name, _, culture = key.rstrip("]").partition("[")
            values = {culture: value} if culture else value
            for lcid, each in values.items() if isinstance(values, Mapping) else ():
                attribute = self.properties[name].attribute if name in self.properties else None
                text = plain_value(self.labels, attribute, each) if attribute else self._text(each)
                yield self._label(name, lcid), self._moment(name, each) if name in MOMENTS and each else text

    def _label(self, key: str, lcid: str = "") -> str:
        label = self.labels.property(self.properties[key]) if key in self.properties else key_words(key)
        if not lcid or lcid == str(INVARIANT_CULTURE):
            return label
        culture = next((each.name for each in self.labels.cultures if str(each.lcid) == lcid), lcid)
        return f"{label} ({culture})"

    def _drawn(self, document: Mapping[str, Any]) -> str:
        if "laneId" in document:
            return ", ".join(dict.fromkeys(map(str, document["name"].values()))) or _("a lane without a name")
        if "element" in document:
            return self._name(str(document["element"]))
        ends = (self._shape(str(document.get(each))) for each in ("predecessor", "shapeId"))
        return _("%(first)s → %(second)s") % dict(zip(("first", "second"), ends, strict=True))

    def _shape(self, shape: str) -> str:
        found = self.named.get(self.shapes.get(shape, ""))
        return found.name if found else _("a deleted shape")

    def _name(self, id: str) -> str:
        return self.named[id].name if id in self.named else id

    def _text(self, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return _("Yes") if value else _("No")
        if isinstance(value, Mapping):
            return "\n".join(f"{key_words(str(key))}: {self._text(each)}" for key, each in value.items())
        if isinstance(value, list):
            return "\n".join(self._text(each) for each in value)
        return self._name(str(value))


def _read_shapes(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the elements of the shapes that arrows connect: from the documents, or else from the diagram."""
    drawn = [each for document in documents for each in document.get("shapes") or ()]
    known = {str(each["shapeId"]): str(each["element"]) for each in drawn if "element" in each}
    flows = [each for document in documents for each in document.get("flows") or ()]
    ends = {str(each.get(end)) for each in flows for end in ("predecessor", "shapeId")}
    if wanted := sorted(each for each in ends - known.keys() if GUID.fullmatch(each)):
        known |= fetch("SELECT id::text, element_id::text FROM elements_shape WHERE id = ANY(%s::uuid[])", [wanted])
    return known


def _ids(*documents: Any) -> Iterator[str]:
    for document in documents:
        if isinstance(document, str):
            if GUID.fullmatch(document):
                yield document
        elif isinstance(document, Mapping):
            yield from _ids(*document.values())
        elif isinstance(document, list):
            yield from _ids(*document)


# The history of a person shows all values (D398).
PANEL = Panel(
    "record",
    gettext_lazy("History"),
    record_panel,
    lambda page: page.row.type not in page.labels.configuration.partial,
    order=90,
)
