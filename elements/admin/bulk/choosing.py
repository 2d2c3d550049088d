"""The operations that a selection of elements offers, and the fields for their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from elements.admin.editing.fields import PARENT, STEREOTYPE, Field, Row, build_rows, render_field
from elements.admin.editing.typed import NoJson, read_typed
from elements.admin.labels import OfficeLabels
from elements.bulk.operations import ADD, CLEAR, DELETE, MOVE, REMOVE, SET
from elements.extension import elements_extensions
from facets.blueprint.definitions import ElementType
from repository_site.core.wording import GUID

COMMENT, IGNORE = "comment", "ignoreWarnings"
TRANSITION, VERSION = "transition", "createVersion"


@dataclass(frozen=True, slots=True)
class BulkChoice:
    """One operation, such as to set one property."""

    kind: str
    key: str
    title: str
    rows: tuple[Row, ...] = ()

    @property
    def value(self) -> str:
        return f"{self.kind}:{self.key}" if self.key else self.kind

    @property
    def needs_values(self) -> bool:
        return bool(self.rows) or self.kind == TRANSITION

    @property
    def is_dangerous(self) -> bool:
        return self.kind == DELETE


@dataclass(frozen=True, slots=True)
class BulkField:
    label: str
    field: Field
    html: SafeString | Callable[[], SafeString]
    error: str


def choice_groups(labels: OfficeLabels, types: Sequence[ElementType]) -> list[tuple[str, list[BulkChoice]]]:
    """Return the operations that make sense for elements of these types, in groups."""
    rows = _rows(labels, types)
    properties = [each for each in rows if each.key != PARENT]
    contexts = [each for each in properties if each.fields[0].chooses and each.fields[0].most != 1]
    names = [(_("Set"), SET, properties), (_("Clear"), CLEAR, properties)]
    names += [(_("Add references"), ADD, contexts), (_("Remove references"), REMOVE, contexts)]
    groups = [
        (title, [BulkChoice(kind, row.key, f"{title}: {row.label}", () if kind == CLEAR else (row,)) for row in found])
        for title, kind, found in names
    ]
    groups.append((_("Release"), list(_lifecycle(labels, types))))
    moves = [BulkChoice(MOVE, "", _("Move"), (row,)) for row in rows if row.key == PARENT]
    deletion = BulkChoice(DELETE, "", _("Delete (only the draft, if a version is published)"))
    groups.append((_("Element"), [*moves, deletion]))
    return [(title, found) for title, found in groups if found]


def _rows(labels: OfficeLabels, types: Sequence[ElementType]) -> list[Row]:
    """Return the properties of the types by their labels; the first type that has one decides about its field."""
    found: dict[str, Row] = {}
    for type in types:
        for row in build_rows(labels, type, None):
            found.setdefault(row.key, row)
    found.pop(STEREOTYPE, None)
    return sorted(found.values(), key=lambda row: row.label.casefold())


def _lifecycle(labels: OfficeLabels, types: Sequence[ElementType]) -> Iterator[BulkChoice]:
    known = {name for extension in elements_extensions for name in extension.bulk_steps}
    cycles = [labels.configuration.cycles[type.key].cycle for type in types if type.key in labels.configuration.cycles]
    if TRANSITION in known:
        transitions = {each.key: each for cycle in cycles for each in cycle.transitions}
        titles = {key: labels.text(each.display_names, key) for key, each in transitions.items()}
        often = {title for title, number in Counter(titles.values()).items() if number > 1}
        for key, title in titles.items():
            # Several states can have a transition of the same name.
            source = transitions[key].source
            yield BulkChoice(TRANSITION, key, f"{title} ({labels.titles[source]})" if title in often else title)
    if VERSION in known and cycles:
        yield BulkChoice(VERSION, "", _("New version"))


def find_choice(groups: Sequence[tuple[str, list[BulkChoice]]], value: str) -> BulkChoice | None:
    return next((each for _title, found in groups for each in found if each.value == value), None)


def shown_fields(
    labels: OfficeLabels, choice: BulkChoice, data: QueryDict, errors: Mapping[str, str]
) -> list[BulkField]:
    fields = [(row, field) for row in choice.rows for field in row.fields]
    typed = {field.name: field.read(data) for _row, field in fields}
    ids = {each for value in typed.values() if isinstance(value, str) for each in value.split(",")}
    named = labels.elements(each for each in ids if GUID.fullmatch(each))
    return [
        BulkField(
            f"{row.label} ({field.culture_name})" if field.culture_name else row.label,
            field,
            render_field(
                labels, field, typed[field.name], named, [f"errors-{field.name}"] if field.name in errors else []
            ),
            errors.get(field.name, ""),
        )
        for row, field in fields
    ]


def read_choice(choice: BulkChoice, data: QueryDict) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the operation as the API takes it, and the problems of its fields by their names."""
    errors: dict[str, str] = {}
    if choice.kind == CLEAR:
        return {CLEAR: [choice.key]}, errors
    if choice.kind in (DELETE, VERSION):
        return {choice.kind: True}, errors
    if choice.kind == TRANSITION:
        comment, ignore = data.get(COMMENT, "").strip(), data.get(IGNORE) == "true"
        return {TRANSITION: choice.key, COMMENT: comment, IGNORE: ignore}, errors
    values: dict[str, Any] = {}
    ids: list[str] = []
    fields = [field for row in choice.rows for field in row.fields]
    for field in fields:
        typed = field.read(data)
        if field.attribute is None:
            ids = [each.lower() for each in str(typed).split(",") if each]
            if not all(map(GUID.fullmatch, ids)):
                errors[field.name] = _("Choose elements from the list.")
            continue
        try:
            value = read_typed(field.attribute.data_type, typed)
        except NoJson as problem:
            errors[field.name] = _("Invalid JSON: %(problem)s.") % {"problem": problem}
            continue
        if value is not None:
            values[field.culture] = value
    if choice.kind == MOVE:
        return {MOVE: {"parent": ids[0] if ids else None}}, errors
    if not values and not ids and not errors:
        errors[fields[0].name] = _("Enter a value. To remove values, choose Clear.")
    if fields[0].attribute is None:
        return {choice.kind: {"related": {choice.key: [{"id": each} for each in ids]}}}, errors
    return {SET: {"attributes": {choice.key: values}}}, errors
