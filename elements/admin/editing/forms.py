"""The form of an element: the stored values, the values when the form was opened, and the typed values.

Only values that the user has changed are sent to the domain, so that two users who change different values of an
element do not undo each other's work. Each problem that the domain finds is shown at its field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from elements.admin.editing.fields import PARENT, STEREOTYPE, Field, Row, build_rows, render_field
from elements.admin.editing.typed import NoJson, Typed, read_typed, same_typed, typed_value
from elements.admin.labels import OfficeLabels
from elements.admin.linking import titled_text
from elements.presentation.labels import Named
from elements.presentation.values import is_no_end, plain_value
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow
from elements.writing.findings import Findings
from elements.writing.inputs import ElementInput, ReferenceInput
from elements.writing.planned_changes import VALIDITY
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import Problem
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.rendering import to_json
from repository_site.core.rest.strict_json import has_more_values
from repository_site.core.wording import GUID

# The place of a problem: the element of the form, then the property.
PLACE = "element"
ABOUT = re.compile(rf"{PLACE}: (?P<key>[^\[:]+)(?:\[(?P<part>\d+)\])?")
READ = "read"


class FormFindings(Findings):
    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[str, str]] = []

    def add(self, kind: type[Problem], place: str, text: str) -> None:
        self.noted.append((place, text))
        super().add(kind, place, text)


@dataclass(frozen=True, slots=True)
class Shown:
    """A rendered field. `note` has the stored value if another user has changed it meanwhile."""

    field: Field
    html: SafeString | Callable[[], SafeString]
    errors: Sequence[str]
    note: str


@dataclass(frozen=True, slots=True)
class ShownRow:
    row: Row
    fields: list[Shown]

    @property
    def has_errors(self) -> bool:
        return any(each.errors for each in self.fields)


class ElementForm:
    """The form of a version, or of a new element if `row` is None."""

    def __init__(
        self,
        labels: OfficeLabels,
        type: ElementType,
        editable: frozenset[str] | None = None,
        row: VersionRow | None = None,
        related: Mapping[str, Sequence[str]] | None = None,
        parent: str | None = None,
    ) -> None:
        self.labels, self.type, self.row = labels, type, row
        self.rows = build_rows(labels, type, editable)
        self.stored = _stored_values(labels, self.fields, row, related or {}, parent)
        self.read: dict[str, Typed] = dict(self.stored)
        self.values: dict[str, Typed] = dict(self.stored)
        self.errors: dict[str, list[str]] = {}
        self.problems: list[str] = []
        self.notes: dict[str, str] = {}
        self.saved = ""
        """Id of the saved version; empty until then."""

    @property
    def fields(self) -> list[Field]:
        return [field for row in self.rows for field in row.fields]

    @property
    def has_rich_text(self) -> bool:
        return any(field.is_rich_text for field in self.fields)

    @property
    def revision(self) -> str:
        return str(self.row.revision) if self.row else ""

    @property
    def read_text(self) -> str:
        """The values when the form was opened, for a hidden field."""
        return to_json(self.read).decode()

    def fill(self, data: QueryDict) -> None:
        self.read = _known(data.get(READ, ""), self.fields)
        self.values = {field.name: field.read(data, self.read[field.name]) for field in self.fields}

    @property
    def changed(self) -> list[Field]:
        return [field for field in self.fields if not same_typed(self.values[field.name], self.read[field.name])]

    def rebase(self, data: QueryDict) -> None:
        """Apply the typed values to what another user has stored meanwhile. Fields that both have changed get a note
        with the stored value."""
        self.fill(data)
        typed = {field.name for field in self.changed}
        for field in self.fields:
            name, stored = field.name, self.stored[field.name]
            if name not in typed:
                self.values[name] = stored
            elif not same_typed(self.read[name], stored) and not same_typed(self.values[name], stored):
                self.notes[name] = self._plain(field)
        self.read = dict(self.stored)

    def _plain(self, field: Field) -> str:
        value = self.stored[field.name]
        if field.chooses:
            ids = [each for each in str(value).split(",") if each]
            named = self.labels.elements(filter(GUID.fullmatch, ids))
            return ", ".join(named[each].name if each in named else each for each in ids)
        if field.attribute is None:
            return str(value)
        try:
            return plain_value(self.labels, field.attribute, read_typed(field.attribute.data_type, value))
        except NoJson:
            return str(value)

    def element_input(self) -> ElementInput | None:
        """Return the changes for the domain; None if a typed value cannot be parsed."""
        given = ElementInput(PLACE, version=self.row.version if self.row else None)
        if self.row is None:
            given.type = self.type.key
        for field in self.changed if self.row else self.fields:
            try:
                self._add(given, field, self.values[field.name])
            except NoJson as problem:
                self.add_error(field, _("Invalid JSON: %(problem)s.") % {"problem": problem})
        return None if self.errors else given

    def _add(self, given: ElementInput, field: Field, value: Typed) -> None:
        is_new = self.row is None
        if field.attribute is not None:
            meant = read_typed(field.attribute.data_type, value)
            if meant is not None or not is_new:
                given.attributes.setdefault(field.key, {})[field.culture] = meant
        elif field.key == STEREOTYPE:
            given.stereotype = str(value) or (None if is_new else "")
        else:
            place = f"{PLACE}: {field.key}"
            ids = [each.lower() for each in str(value).split(",") if each]
            named = [ReferenceInput(f"{place}[{index}]", id=each) for index, each in enumerate(ids)]
            if not all(map(GUID.fullmatch, ids)):
                self.add_error(field, _("Choose elements from the list."))
            if field.key == PARENT:
                given.root_path = named
            elif named or not is_new:
                given.related[field.key] = named

    def take(self, problem: Problem, findings: FormFindings) -> None:
        """Show each problem at its field; other problems are shown above the form."""
        if not findings.noted:
            self.problems += [titled_text(self.labels, each) for each in problem.details]
        for place, text in findings.noted:
            about = ABOUT.fullmatch(place)
            field = self._field(about["key"], about["part"] or "") if about else None
            if field is None:
                where = place.removeprefix(PLACE).lstrip(": ")
                self.problems.append(titled_text(self.labels, _sentence(f"{where}: {text}" if where else text)))
            else:
                self.add_error(field, titled_text(self.labels, _sentence(text)))
        self.problems = list(dict.fromkeys(self.problems))

    def _field(self, key: str, part: str) -> Field | None:
        """Find a field by key and culture; a number in a list of references means the whole list."""
        of_key = [field for field in self.fields if field.key == key]
        return next((field for field in of_key if field.culture == part), of_key[0] if of_key else None)

    def add_error(self, field: Field, text: str) -> None:
        errors = self.errors.setdefault(field.name, [])
        if text not in errors:
            errors.append(text)

    def shown_rows(self) -> list[ShownRow]:
        chosen = (str(self.values[field.name]).split(",") for field in self.fields if field.chooses)
        named = self.labels.elements({each for ids in chosen for each in ids if GUID.fullmatch(each)})
        return [ShownRow(row, [self._shown(row, field, named) for field in row.fields]) for row in self.rows]

    def _shown(self, row: Row, field: Field, named: Mapping[str, Named]) -> Shown:
        errors, note = self.errors.get(field.name, []), self.notes.get(field.name, "")
        described_by = [f"help-{row.key}"] if row.help else []
        described_by += [f"errors-{field.name}"] if errors or note else []
        html = render_field(self.labels, field, self.values[field.name], named, described_by)
        return Shown(field, html, errors, note)


def _stored_values(
    labels: OfficeLabels,
    fields: Sequence[Field],
    row: VersionRow | None,
    related: Mapping[str, Sequence[str]],
    parent: str | None,
) -> dict[str, Typed]:
    attributes: Mapping[str, Mapping[str, Any]] = read_exactly(row.attributes) if row else {}

    def stored(field: Field) -> Typed:
        if field.attribute is not None:
            value = attributes.get(field.key, {}).get(field.culture)
            if field.key in VALIDITY and row is not None:
                moment = getattr(row, VALIDITY[field.key])
                value = None if is_no_end(moment) else wire_datetime(moment, labels.reader.zone)
            return typed_value(field.attribute.data_type, value)
        if field.key == STEREOTYPE:
            return row.stereotype if row else ""
        if field.key == PARENT:
            return (row.parent if row else parent) or ""
        return ",".join(related.get(field.key, ()))

    return {field.name: stored(field) for field in fields}


def _known(text: str, fields: Sequence[Field]) -> dict[str, Typed]:
    try:
        given = {} if has_more_values(text.encode(), settings.MAX_VALUES) else json.loads(text)
    except (ValueError, RecursionError):
        given = {}
    found: dict[str, Typed] = {}
    for field in fields:
        value = given.get(field.name) if isinstance(given, dict) else None
        if isinstance(value, list):
            found[field.name] = [str(each) for each in value]
        else:
            found[field.name] = value if isinstance(value, str) else field.read(QueryDict(""))
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
