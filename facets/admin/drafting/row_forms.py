"""Forms that parse input and apply it to a draft; the domain modules check the draft."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, ClassVar, cast
from uuid import UUID, uuid4

from django import forms
from django.core.exceptions import ValidationError
from django.forms.formsets import BaseFormSet
from django.forms.models import construct_instance
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.forms import PaginationInlineFormSet

from facets.admin.drafting.choice_fields import ListField, Option, RowChoices, RowField
from facets.admin.drafting.part_lines import Line, cell_of, joined, table_cells
from facets.admin.drafting.snapshot import ConfigurationSnapshot
from facets.admin.drafting.text_fields import TextsField
from facets.rows.drafts import Draft
from facets.rows.reading import Row


class ConfigurationForm(forms.ModelForm):
    """A form for a row. `places` maps parts of a template to fields whose names differ from them."""

    snapshot: ClassVar[ConfigurationSnapshot]
    places: ClassVar[dict[str, str]] = {}
    instance: Any
    """The row, of the model of the form."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.prepare()

    def prepare(self) -> None:
        """Offer choices, and set initial values of fields that the model does not have."""

    @property
    def row(self) -> Row | None:
        return None if self.instance._state.adding else self.snapshot.rows.row(type(self.instance), self.instance.pk)

    def offer(self, name: str, options: Iterable[Option] | RowChoices) -> None:
        cast("RowField | ListField", self.fields[name]).offer(options)

    def start(self, **values: Any) -> None:
        """Set initial values of fields that the model does not have, unless the address of the page gives them."""
        for name, value in values.items():
            self.initial.setdefault(name, value)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            if isinstance(field, TextsField) and name in cleaned:
                cleaned[name] = field.keep(cleaned[name], self.initial.get(name))
            if isinstance(field, ListField) and name in cleaned:
                cleaned[name] = field.arrange(cleaned[name], self.initial.get(name))
        return cleaned

    def full_clean(self) -> None:
        super().full_clean()
        if self.snapshot.errors is not None and self.is_bound:
            for name, text in self.snapshot.errors.get(self.prefix, []):
                self.add_error(name if name in self.fields else None, text)

    def is_valid(self) -> bool:
        # A form that was checked is shown again, even without errors.
        return super().is_valid() and (self.snapshot.errors is None or self.prefix is not None)

    def _post_clean(self) -> None:
        """Validate like Django, but without a query per constraint and row."""
        excluded = self._get_validation_exclusions()  # type: ignore[attr-defined]
        self.instance = construct_instance(self, self.instance, self._meta.fields, self._meta.exclude)
        try:
            self.instance.clean_fields(exclude=excluded)
        except ValidationError as problem:
            self._update_errors(problem)  # type: ignore[attr-defined]

    def apply(self, draft: Draft) -> None:
        """Apply the input to the draft."""
        if self.instance.pk is None:
            self.instance.pk = uuid4()
        draft.put(self.instance)

    def conclude(self, draft: Draft) -> None:
        """Apply input that needs the parts of the row in the draft."""


class RowIdField(forms.UUIDField):
    """The id of the row of a form in a formset; an unknown id is an error."""

    widget = forms.HiddenInput

    def __init__(self, known: frozenset[UUID], **options: Any) -> None:
        super().__init__(**options)
        self.known = known

    def clean(self, value: Any) -> UUID | None:
        found: UUID | None = super().clean(value)
        if found is not None and found not in self.known:
            raise ValidationError(
                _("Someone else has removed this entry in the meantime. Mark it for deletion and save again.")
            )
        return found


class PartForm(ConfigurationForm):
    """A table row inside the form of its `owner`, which may be new."""

    def __init__(self, *args: Any, owner: Any = None, **options: Any) -> None:
        self.owner = owner
        super().__init__(*args, **options)
        place = self.fields["position"]
        place.widget, place.required = forms.HiddenInput(), False
        if self.instance._state.adding:
            # Rows without a position come last.
            place.initial = None

    def has_changed(self) -> bool:
        # Dragging other rows gives a position to empty rows, too.
        return bool(set(self.changed_data) - {"position"})

    @property
    def is_new(self) -> bool:
        return bool(self.instance._state.adding)


def make_plain(form: type[PartForm]) -> None:
    """Use one short class, since unfold's classes add megabytes to a table of forty rows; set an accessible name.

    The fields of each row are copies of these. Labels are translated here, once and not for each row.
    """
    # Other forms share fields that are declared in a class.
    form.base_fields = deepcopy(form.base_fields)
    for field in form.base_fields.values():
        widget, field.label = field.widget, str(field.label or "")
        widget.attrs["aria-label"] = field.label
        if isinstance(widget, forms.CheckboxInput):
            widget.attrs["class"] = "config-check"
        elif isinstance(widget, forms.TextInput | forms.NumberInput | forms.Select):
            widget.attrs["class"] = "config-input"


class PartFormSet(PaginationInlineFormSet):
    """The parts of a row, such as the properties of a type. `columns` are the visible fields."""

    forms: list[PartForm]
    columns: ClassVar[tuple[str, ...]]
    folded: ClassVar[tuple[str, ...]]
    is_table: ClassVar[bool]
    handle: ClassVar[SafeString]
    bin: ClassVar[SafeString]
    address: ClassVar[Callable[[PartForm], str]]
    title: ClassVar[Callable[[PartForm], str]]

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return {**super().get_form_kwargs(index), "owner": self.instance}

    def add_fields(self, form: Any, index: int | None) -> None:
        """Add Django's fields without the one of the owner, which the page knows, and with an id field that needs no
        query."""
        BaseFormSet.add_fields(self, form, index)
        self._pk_field = self.model._meta.pk
        row_id = None if form.is_new else form.instance.pk
        form.fields["id"] = RowIdField(self._known, initial=row_id, required=False)
        if "DELETE" in form.fields:
            form.fields["DELETE"].widget.attrs["class"] = "parts-gone"

    @cached_property
    def _known(self) -> frozenset[UUID]:
        return frozenset(row.pk for row in self.get_queryset())

    def lines(self) -> Iterator[Line]:
        """Yield the rows in the order after dragging, also if the form is shown again."""
        forms = sorted(self.forms, key=_place) if self.is_bound else self.forms
        for form in forms:
            yield self._line(form, "" if form.is_new else " original")

    @cached_property
    def pattern(self) -> Line:
        """The row that the script copies for each new row."""
        return self._line(self.empty_form, " template empty-form")

    def _line(self, form: PartForm, kind: str) -> Line:
        cls = type(self)
        cells = [cell_of(form[name]) for name in self.columns]
        return {
            "kind": kind,
            "is_new": form.is_new,
            "has_errors": bool(form.errors),
            "errors": form.non_field_errors(),
            "hidden": joined(form.hidden_fields()),
            "remove": form["DELETE"].as_widget() if "DELETE" in form.fields else "",
            "cells": table_cells(cells) if cls.is_table else cells,
            "folded": [cell_of(form[name]) for name in self.folded],
            "address": "" if form.is_new else cls.address(form),
            "title": "" if form.is_new else cls.title(form),
        }

    def clean(self) -> None:
        """Leave repeated names to the domain modules, which know how names compare."""

    def full_clean(self) -> None:
        super().full_clean()
        for form in self.forms:
            for text in list(form.errors.get("id", [])):
                # The field is hidden, so show its errors on the row.
                form.add_error(None, text)

    def wanted(self) -> list[PartForm]:
        """Return the forms of rows to keep, in the order after dragging; new rows without a position come last."""
        gone = set(self.deleted_forms)
        kept = [form for form in self.forms if form not in gone and (form.has_changed() or not form.is_new)]
        return sorted(kept, key=_place)

    def put_all(self, draft: Draft) -> None:
        forms = self.wanted()
        for form in forms:
            setattr(form.instance, self.fk.attname, self.instance.pk)
            form.apply(draft)
        draft.arrange(self.model, [form.instance.pk for form in forms])

    def remove_gone(self, draft: Draft) -> None:
        for form in self.deleted_forms:
            if not form.is_new:
                draft.remove(self.model, form.instance.pk)


def _place(form: PartForm) -> tuple[bool, int]:
    place = getattr(form, "cleaned_data", {}).get("position")
    return (place is None, place or 0)
