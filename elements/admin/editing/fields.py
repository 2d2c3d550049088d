"""The fields of an element form: one for each value that can be set, by data type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.forms import Widget
from django.forms.widgets import CheckboxSelectMultiple, Input, Select, Textarea
from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.widgets import BASE_INPUT_CLASSES

from elements.admin.editing.rich_text import document_name, show_rich_text, typed_markup
from elements.admin.editing.typed import Typed, posted_text
from elements.admin.labels import OfficeLabels
from elements.presentation.labels import Named
from elements.reading.assembly.projection import DERIVED
from elements.writing.inputs import SERVER_CONTEXTS
from elements.writing.planned_changes import VALIDITY
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType, Property
from storage.files import FILES_PATH
from storage.localisation.cultures import INVARIANT_CULTURE

INVARIANT = str(INVARIANT_CULTURE)
STEREOTYPE, PARENT = "stereotype", "rootPath"
INPUT = {"class": " ".join(BASE_INPUT_CLASSES)}
# Browsers keep milliseconds in fields for date and time and would drop smaller fractions.
FINEST_MOMENT = 23


@dataclass(frozen=True, slots=True)
class Field:
    """`key` and `culture` identify the value; related contexts and parents have no culture."""

    name: str
    key: str
    culture: str = ""
    culture_name: str = ""
    attribute: Attribute | None = None
    chooses: str = ""
    """Address of the elements to choose from; empty for other fields."""
    most: int = 0

    @property
    def is_rich_text(self) -> bool:
        return self.attribute is not None and self.attribute.data_type is DataType.HTML

    def widget(self, labels: OfficeLabels, value: Typed) -> Widget:
        attribute = self.attribute
        if attribute is None:
            return _line("text")
        kind = attribute.data_type
        if kind in (DataType.MULTI_LINE_TEXT, DataType.HTML, DataType.FILES):
            rows = 3 if kind is DataType.MULTI_LINE_TEXT else 6
            return Textarea({"rows": rows, "class": f"{INPUT['class']} el-area el-area-{kind.lower()}"})
        if kind is DataType.SELECTION_VALUE:
            return Select(INPUT, [("", _("not set")), *_choices(labels, attribute, [str(value)] if value else [])])
        if kind is DataType.MULTI_SELECTION_VALUE:
            return CheckboxSelectMultiple({}, _choices(labels, attribute, list(value)))
        if kind is DataType.BOOLEAN:
            known = {"": _("not set"), "true": _("Yes"), "false": _("No")}
            return Select(INPUT, list({str(value): str(value), **known}.items()))
        if kind is DataType.DATE:
            return _line("date")
        if kind is DataType.DATE_TIME and len(str(value)) <= FINEST_MOMENT:
            return _line("datetime-local", step="any")
        return _line("text", inputmode=_KEYBOARDS.get(kind, "text"))

    def read(self, data: QueryDict, known: Typed = "") -> Typed:
        """Return the typed value; a field that is missing in the request is empty. `known` is the value with which the
        form was opened."""
        data_type = self.attribute.data_type if self.attribute else None
        if data_type is DataType.MULTI_SELECTION_VALUE:
            return data.getlist(self.name)
        typed = posted_text(data_type, data.get(self.name) or "")
        if self.is_rich_text:
            return typed_markup(typed, data.get(document_name(self.name)) or "", str(known))
        return typed


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    key: str
    help: str
    fields: tuple[Field, ...]
    is_single: bool
    """The property has one field, not one for each culture."""


def build_rows(labels: OfficeLabels, type: ElementType, editable: frozenset[str] | None) -> list[Row]:
    """Return a row for each property that can be set; `editable` is None if all can."""
    found = [_property_row(labels, type, each) for each in type.properties]
    rows = [row for row in found if row is not None and (editable is None or row.key in editable)]
    if editable is None:
        rows.append(Row(_("Stereotype"), STEREOTYPE, "", (Field("stereotype", STEREOTYPE),), is_single=True))
        if type.parents and not type.lives_in_diagrams:
            field = Field("parent", PARENT, chooses=_chooses(parent=type.key), most=1)
            help = _("Place in the tree. An element without a parent is unfiled.")
            rows.insert(0, Row(_("Parent"), PARENT, help, (field,), is_single=True))
    return rows


def _property_row(labels: OfficeLabels, type: ElementType, property: Property) -> Row | None:
    """Return None for derived properties and read-only contexts."""
    key, label, help = property.key, labels.property(property), labels.help(property)
    if property.related is not None:
        if property.related.read_only or key in SERVER_CONTEXTS:
            return None
        chooses = _chooses(type=type.key, context=key)
        field = Field(f"r-{key}", key, chooses=chooses, most=property.related.max_occurrence)
        return Row(label, key, help, (field,), is_single=True)
    attribute = property.attribute
    if attribute is None or (key in DERIVED and key not in VALIDITY):
        return None
    help = " ".join(filter(None, (help, _form_of(labels, attribute))))
    if attribute.is_invariant_culture:
        return Row(label, key, help, (Field(f"a-{key}", key, INVARIANT, attribute=attribute),), is_single=True)
    fields = tuple(Field(f"a-{key}-{each.lcid}", key, str(each.lcid), each.name, attribute) for each in labels.cultures)
    return Row(label, key, help, fields, is_single=len(fields) == 1)


def _form_of(labels: OfficeLabels, attribute: Attribute) -> str:
    """Return what a person has to know to type a value; empty if the field shows it."""
    match attribute.data_type:
        case DataType.DATE_TIME:
            return _("Local time: %(zone)s.") % {"zone": labels.reader.zone.key}
        case DataType.HTML:
            return _("Formatted text.")
        case DataType.FILES:
            return _("Files of this storage, and links to other files.")
    return ""


def _chooses(**given: str) -> str:
    return f"{reverse('admin:elements_choices')}?{urlencode(given)}"


def _line(type: str, **attributes: str) -> Input:
    line = Input({**INPUT, **attributes})
    line.input_type = type
    return line


def _choices(labels: OfficeLabels, attribute: Attribute, chosen: Sequence[str]) -> list[tuple[str, str]]:
    """A stored key that is no longer configured stays selectable."""
    known = [
        (each.key, labels.text(each.display_names, each.key))
        for each in attribute.selectable_values
        if each.key is not None
    ]
    return known + [(key, key) for key in chosen if key not in dict(known)]


_KEYBOARDS = {DataType.INTEGER: "numeric", DataType.DECIMAL: "decimal", DataType.URL: "url"}


def render_field(
    labels: OfficeLabels, field: Field, value: Typed, named: Mapping[str, Named], described_by: Sequence[str]
) -> SafeString | Callable[[], SafeString]:
    """Return the field, or for formatted text, which takes time, a function that the template calls (D183)."""
    attributes: dict[str, Any] = {"id": f"id-{field.name}"}
    if field.is_rich_text:
        described_by = [*described_by, f"note-{field.name}"]
    if described_by:
        attributes["aria-describedby"] = " ".join(described_by)
    if field.chooses:
        chosen = [each for each in str(value).split(",") if each]
        context = {
            "field": field,
            "value": ",".join(chosen),
            "chosen": [named.get(each, each) for each in chosen],
            "is_single": field.most == 1,
            "described_by": attributes.get("aria-describedby", ""),
        }
        return render_to_string("back_office/elements/picker.html", context)
    area = field.widget(labels, value).render(field.name, value, attributes)
    if field.is_rich_text:
        culture = field.culture if field.culture != INVARIANT else str(labels.lcid)
        return lambda: show_rich_text(field.name, area, str(value), _chooses(culture=culture))
    if field.attribute is not None and field.attribute.data_type is DataType.FILES:
        address = f"{get_script_prefix()}{FILES_PATH.rstrip('/')}"
        context = {"area": area, "address": address, "most": settings.FILE_LIMIT}
        return render_to_string("back_office/elements/files_field.html", context)
    return area
