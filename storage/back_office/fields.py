"""Form fields of the back offices: multi-line texts, roles, users and times."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    BASE_INPUT_CLASSES,
    UnfoldAdminAutocompleteWidget,
    UnfoldAdminCheckboxSelectMultipleWidget,
)

from storage.access.user_directory import user_choices, user_names
from storage.back_office.role_texts import ROLE_NAMES, ROLE_SENTENCES
from storage.models import Storage
from storage.options import Role, parse_roles


def with_plain_lines(text: str) -> str:
    """Normalise line ends, which browsers send as two characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LinesField(forms.CharField):
    """A multi-line text with normalised line ends, so that an unchanged text compares equal."""

    def to_python(self, value: Any) -> str:
        return with_plain_lines(super().to_python(value) or "")


class RoleCheckboxes(UnfoldAdminCheckboxSelectMultipleWidget):
    """A checkbox for each role, with an optional sentence about its permissions."""

    template_name = "back_office/people/role_boxes.html"
    option_template_name = "back_office/people/role_box.html"

    def __init__(self, *args: Any, with_sentences: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.with_sentences = with_sentences

    def create_option(self, name: str, value: Any, *args: Any, **options: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **options)
        return {**option, "sentence": ROLE_SENTENCES[Role(value)] if self.with_sentences else ""}

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        return {**super().get_context(name, value, attrs), "with_sentences": self.with_sentences}


class RoleField(forms.MultipleChoiceField):
    def __init__(self, *, with_sentences: bool = True, **options: Any) -> None:
        options.setdefault("label", _("Roles"))
        options.setdefault("error_messages", {"required": _("Choose at least one role.")})
        super().__init__(
            choices=[(role.value, ROLE_NAMES[role]) for role in Role],
            widget=RoleCheckboxes(with_sentences=with_sentences),
            **options,
        )

    def clean(self, value: Any) -> tuple[Role, ...]:
        return parse_roles(super().clean(value))


class UserSelect(UnfoldAdminAutocompleteWidget):
    """Select that suggests users while somebody types; a storage can have thousands."""

    option_template_name = "django/forms/widgets/select_option.html"

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self.storage = storage

    def build_attrs(self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None) -> dict[str, Any]:
        # The address contains the storage of the request, which is known only here.
        attrs: dict[str, Any] = super().build_attrs(base_attrs, extra_attrs)
        return {**attrs, "data-ajax--url": user_choices(), "data-placeholder": str(_("Nobody"))}

    def optgroups(self, name: str, value: list[str], attrs: dict[str, Any] | None = None) -> Any:
        """Return the chosen user as the only option; the browser loads others."""
        chosen = [user for each in value for user in uuids_of(each)]
        names = user_names(self.storage, chosen)
        self.choices = [("", ""), *((str(each), names.get(each, str(each))) for each in chosen)]
        return forms.Select.optgroups(self, name, value, attrs)


class UserField(forms.UUIDField):
    def __init__(self, storage: Storage, **options: Any) -> None:
        super().__init__(widget=UserSelect(storage), required=False, **options)


def uuids_of(text: Any) -> list[UUID]:
    """Return a list with the id in a text, or an empty list."""
    try:
        return [UUID(str(text))]
    except ValueError:
        return []


class MomentInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__({"class": " ".join([*BASE_INPUT_CLASSES, "max-w-2xl"])}, format="%Y-%m-%dT%H:%M")


class MomentField(forms.DateTimeField):
    """A date and time in the time zone of the page."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=MomentInput(), required=False, **options)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, datetime) and timezone.is_aware(value):
            value = timezone.make_naive(value)
        return value
