"""Forms that call domain functions and show their problems beside the fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from django import forms
from django.contrib.admin import ModelAdmin
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from unfold.forms import AdminForm

from repository_site.core.problems import Problem

T = TypeVar("T")
Text = str | Promise
Fieldsets = Sequence[tuple[Text | None, Mapping[str, Any]]]


class DomainForm(forms.Form):
    """Base form. `places` maps the start of a problem text, such as `valid until: ...`, to a field.

    Texts that name no field stand above the form. What was typed stays.
    """

    places: ClassVar[Mapping[str, str]] = {}

    def attempt(self, change: Callable[[], T], but: type[Problem] | None = None) -> T | None:
        """Return the result of a change, or None with errors in the form. Problems of the type `but` are raised to the
        caller."""
        try:
            with transaction.atomic():
                return change()
        except Problem as problem:
            if but is not None and isinstance(problem, but):
                raise
            for text in problem.details:
                self.add_problem(text)
            return None

    def add_problem(self, text: str) -> None:
        place, name = self.place_of(text)
        rest = text[len(place) :]
        words = rest[1:].strip() if name and rest.startswith(":") else text
        self.add_error(name, words[:1].upper() + words[1:])

    def place_of(self, text: str) -> tuple[str, str | None]:
        """Return the start of the text that names a field, and the field."""
        for place, name in self.places.items():
            if re.match(rf"{re.escape(place)}(?!\w)", text) and name in self.fields:
                return place, name
        return "", None


@dataclass(frozen=True, slots=True)
class FormPage:
    """Page with one form. `original` is the changed object, `button` the label of the button."""

    title: Text
    button: Text
    fieldsets: Fieldsets
    original: Model | None = None
    template: str = "back_office/domain_form.html"
    context: Mapping[str, Any] = field(default_factory=dict)

    def render(self, model_admin: ModelAdmin, request: HttpRequest, form: forms.Form) -> TemplateResponse:
        # Unfold reads these from a model admin while it renders.
        request.current_app = model_admin.admin_site.name
        adminform = AdminForm(form, list(self.fieldsets), {}, (), model_admin=model_admin)
        context = {
            **model_admin.admin_site.each_context(request),
            "title": self.title,
            "opts": model_admin.opts,
            "original": self.original,
            "adminform": adminform,
            "errors": form.errors,
            "media": model_admin.media + form.media,
            "has_file_field": form.is_multipart(),
            "button": self.button,
            "add": self.original is None,
            "change": self.original is not None,
            "inline_admin_formsets": [],
            "has_add_permission": False,
            **self.context,
        }
        return TemplateResponse(request, self.template, context)
