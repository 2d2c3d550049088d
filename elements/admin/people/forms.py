"""Forms of users and groups, with the fields that the types of the storage have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminExpandableTextareaWidget,
    UnfoldAdminMultipleAutocompleteWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
    UnfoldBooleanWidget,
)

from elements.admin.labels import OfficeLabels
from elements.models.people import GROUP_TYPE
from elements.naming import NAME
from elements.people.administration import (
    GROUP_PLACE,
    GROUPS,
    INVARIANT,
    USER_PLACE,
    GroupDraft,
    UserDraft,
    groups_of,
    members_of,
)
from elements.users import grant_of
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType, Property
from facets.blueprint.private_content import INACTIVE, ROLE_ATTRIBUTES, USER_TYPE
from repository_site.core.wording import GUID
from storage.back_office.domain_forms import DomainForm, Fieldsets
from storage.back_office.fields import LinesField, RoleField
from storage.back_office.role_texts import ROLE_NAMES

TEXTS = (NAME, "firstName", "lastName")


class PersonForm(DomainForm):
    """Text fields of an element, one for each culture. `found` is None for a new element."""

    place: ClassVar[str]
    order: ClassVar[tuple[str, ...]] = TEXTS

    def __init__(self, labels: OfficeLabels, type: ElementType, found: Any, data: Any) -> None:
        super().__init__(data, initial={"revision": found.newest.revision} if found else {})
        self.labels = labels
        self.stored: Mapping[str, Any] = found.newest.attributes if found else {}
        self.lines: list[str | tuple[str, ...]] = []
        self.known: dict[str, Property] = {each.key: each for each in type.properties}
        plain: list[str] = []
        for key in self.order:
            if key in self.known and self.known[key].attribute:
                names = self._add_text(self.known[key], self.stored.get(key, {}))
                if len(names) > 1:
                    self.lines.append(tuple(names))
                else:
                    plain += names
        if plain:
            self.lines.append(tuple(plain))
        self.fields["revision"] = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def _add_text(self, property: Property, values: Mapping[str, Any]) -> list[str]:
        """Add the fields of a property and return their names."""
        attribute = property.attribute
        if attribute is None:
            return []
        cultures = [] if attribute.is_invariant_culture else self.labels.cultures
        names = []
        for lcid, suffix in [(str(each.lcid), f" ({each.name})") for each in cultures] or [(INVARIANT, "")]:
            name = f"{property.key}_{lcid}"
            is_default = property.key == NAME and lcid in (INVARIANT, str(self.labels.configuration.cultures.default))
            self.fields[name] = LinesField(
                label=f"{self.labels.property(property)}{suffix}",
                required=is_default,
                strip=False,
                initial=values.get(lcid, ""),
                widget=UnfoldAdminTextInputWidget()
                if attribute.data_type is DataType.SINGLE_LINE_TEXT
                else UnfoldAdminExpandableTextareaWidget({"rows": 1}),
            )
            names.append(name)
        return names

    def texts(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for name, value in self.cleaned_data.items():
            key, separator, lcid = name.rpartition("_")
            if separator and key in self.order:
                found.setdefault(key, {})[lcid] = value
        return found

    def place_of(self, text: str) -> tuple[str, str | None]:
        """Find the field of a problem, such as `user: firstName[127]: ...`."""
        rest = text.removeprefix(f"{self.place}: ")
        name, _, _ = rest.partition(": ")
        field = name.replace("[", "_").replace("]", "")
        for candidate in (field, field.partition("_")[0]):
            if candidate in self.fields:
                return text[: len(text) - len(rest) + len(name)], candidate
        return "", None

    def freeze(self) -> None:
        for field in self.fields.values():
            field.disabled = True


class UserForm(PersonForm):
    place = USER_PLACE

    def __init__(self, labels: OfficeLabels, type: ElementType, found: Any, data: Any) -> None:
        super().__init__(labels, type, found, data)
        grant = grant_of(self.stored)
        groups = groups_of([found.pk]).get(found.pk, []) if found else []
        if any(name in self.known for name in ROLE_ATTRIBUTES):
            offered = {role.value for name, role in ROLE_ATTRIBUTES.items() if name in self.known}
            roles = RoleField(required=False, initial=[role.value for role in grant.roles])
            roles.choices = [(key, name) for key, name in ROLE_NAMES.items() if key in offered]
            self.fields["roles"] = roles
        if INACTIVE in self.known:
            self.fields["inactive"] = forms.BooleanField(
                label=gettext_lazy("Inactive"),
                required=False,
                initial=grant.is_inactive,
                widget=UnfoldBooleanSwitchWidget(),
                help_text=gettext_lazy("Tokens and staff accounts of this user are refused."),
            )
        if GROUPS in self.known:
            self.fields["groups"] = ElementsField(
                label=gettext_lazy("Groups"),
                required=False,
                initial=[str(each) for each in groups],
                widget=ElementsSelect(labels, GROUP_TYPE),
            )
        if data is not None and "confirmed" in data:
            self.ask_to_confirm()

    def ask_to_confirm(self) -> None:
        self.fields["confirmed"] = forms.BooleanField(
            label=gettext_lazy("Do it anyway"), required=False, widget=UnfoldBooleanWidget()
        )

    @property
    def fieldsets(self) -> Fieldsets:
        access = [name for name in ("roles", "inactive", "groups", "confirmed") if name in self.fields]
        return ((None, {"fields": [*self.lines, "revision"]}), (_("Access"), {"fields": access}))

    def draft(self, user: UUID | None) -> UserDraft:
        given = self.cleaned_data
        return UserDraft(
            user,
            self.texts(),
            given.get("roles", ()),
            bool(given.get("inactive")),
            given.get("groups", ()),
            given.get("revision"),
        )


class ElementsSelect(UnfoldAdminMultipleAutocompleteWidget):
    """Searches elements of a type while the user types; a storage may have thousands."""

    option_template_name = "django/forms/widgets/select_option.html"

    def __init__(self, labels: OfficeLabels, type: str) -> None:
        super().__init__()
        self.labels = labels
        self.type = type

    def build_attrs(self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None) -> dict[str, Any]:
        attrs: dict[str, Any] = super().build_attrs(base_attrs, extra_attrs)
        address = f"{reverse('admin:elements_choices')}?types={self.type}"
        return {**attrs, "data-ajax--url": address, "data-allow-clear": "false"}

    def optgroups(self, name: str, value: list[str], attrs: dict[str, Any] | None = None) -> Any:
        names = self.labels.elements(filter(GUID.fullmatch, value))
        self.choices = [(each, names[each].name) for each in value if each in names]
        return super().optgroups(name, value, attrs)


class ElementsField(forms.Field):
    """Ids of elements; the domain checks whether they exist."""

    def clean(self, value: Any) -> list[UUID]:
        try:
            return [UUID(str(each)) for each in value or ()]
        except ValueError:
            raise forms.ValidationError(_("Choose elements from the list.")) from None


class GroupForm(PersonForm):
    place = GROUP_PLACE

    def __init__(self, labels: OfficeLabels, type: ElementType, found: Any, data: Any) -> None:
        super().__init__(labels, type, found, data)
        members = members_of([found.pk]) if found else []
        self.fields["members"] = ElementsField(
            label=gettext_lazy("Members"),
            required=False,
            initial=[str(user) for user, _ in members],
            widget=ElementsSelect(labels, USER_TYPE),
            help_text=gettext_lazy("Each member of the group can decide the tasks that are assigned to it."),
        )

    @property
    def fieldsets(self) -> Fieldsets:
        return ((None, {"fields": [*self.lines, "members", "revision"]}),)

    def draft(self, group: UUID | None) -> GroupDraft:
        given = self.cleaned_data
        return GroupDraft(group, self.texts(), given["members"], given.get("revision"))
