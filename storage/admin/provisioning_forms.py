"""Form to provision a storage; `provision_storage` validates the input."""

from __future__ import annotations

import locale
from functools import cache
from typing import Any
from uuid import UUID

from babel import Locale, UnknownLocaleError
from django import forms
from django.conf import settings
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelect2MultipleWidget,
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from repository_site.core.problems import Problem
from storage.back_office.domain_forms import DomainForm, Fieldsets
from storage.localisation.cultures import locale_name
from storage.localisation.regions import region_codes
from storage.localisation.time_zones import time_zone_names
from storage.models import AnonymousAccess, Storage, StorageCollection
from storage.options import EVENT_DAYS, PAST_DAYS, QUOTAS, STUCK_AFTER_DAYS
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.provisioning.templates import TemplateDocument, read_template, template_names

FIELDSETS: Fieldsets = (
    (gettext_lazy("Address"), {"fields": ("collection", "new_collection", "key")}),
    (gettext_lazy("Description for people"), {"fields": ("title", "description")}),
    (gettext_lazy("Initial configuration"), {"fields": ("template", "template_file")}),
    (
        gettext_lazy("Languages"),
        {
            "fields": ("cultures", "default_culture", "mandatory_cultures"),
            "description": gettext_lazy("Leave fields empty to use the values of the template."),
        },
    ),
    (gettext_lazy("Place"), {"fields": ("region", "time_zone")}),
    (gettext_lazy("Rules"), {"fields": ("anonymous", "stuck_after_days", "event_days", "past_days", "base")}),
    (
        gettext_lazy("Quotas"),
        {
            "fields": tuple(f"quota_{name}" for name in QUOTAS),
            "description": gettext_lazy("Leave fields empty for no limit."),
        },
    ),
)


def _choice(label: Any, widget: Any, help_text: Any = "", **options: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, widget=widget, help_text=help_text, required=False, **options)


def _quota(label: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=0, required=False, widget=UnfoldAdminIntegerFieldWidget())


class ProvisionForm(DomainForm):
    places = {
        "collection": "new_collection",
        "storage": "key",
        "title": "title",
        "cultures": "cultures",
        "region": "region",
        "time zone": "time_zone",
        "anonymous access": "anonymous",
        "stuck after": "stuck_after_days",
        "event days": "event_days",
        "past days": "past_days",
        "base": "base",
        **{f"quota {name}": f"quota_{name}" for name in QUOTAS},
    }

    collection = _choice(gettext_lazy("Collection"), UnfoldAdminSelectWidget())
    new_collection = forms.CharField(
        label=gettext_lazy("New collection"),
        required=False,
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off"}),
        help_text=gettext_lazy(
            "Id of a new collection, the first part of its addresses. Leave empty to use the collection above."
        ),
    )
    key = forms.CharField(
        label=gettext_lazy("Id of the storage"),
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off"}),
        help_text=gettext_lazy("The second part of its addresses. It cannot be changed later."),
    )
    title = forms.CharField(
        label=gettext_lazy("Title"),
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text=gettext_lazy("Leave empty to use the id."),
    )
    description = forms.CharField(
        label=gettext_lazy("Description"), required=False, widget=UnfoldAdminTextareaWidget({"rows": 3})
    )
    template = _choice(gettext_lazy("Template"), UnfoldAdminSelectWidget())
    template_file = forms.FileField(
        label=gettext_lazy("Or a template file"),
        required=False,
        widget=UnfoldAdminFileFieldWidget({"accept": ".json,application/json"}),
        help_text=gettext_lazy("JSON file, for example an export from another storage."),
    )
    cultures = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Data cultures"), coerce=int, required=False, widget=UnfoldAdminSelect2MultipleWidget()
    )
    default_culture = forms.TypedChoiceField(
        label=gettext_lazy("Default culture"),
        coerce=int,
        empty_value=None,
        required=False,
        widget=UnfoldAdminSelect2Widget(),
    )
    mandatory_cultures = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Mandatory cultures"),
        coerce=int,
        required=False,
        widget=UnfoldAdminSelect2MultipleWidget(),
        help_text=gettext_lazy("Names in these cultures are required before a release."),
    )
    region = _choice(gettext_lazy("Region"), UnfoldAdminSelect2Widget())
    time_zone = _choice(gettext_lazy("Time zone"), UnfoldAdminSelect2Widget())
    anonymous = forms.ChoiceField(
        label=gettext_lazy("Callers without a credential"),
        choices=AnonymousAccess.choices,
        initial=AnonymousAccess.NONE.value,
        widget=UnfoldAdminRadioSelectWidget(),
    )
    stuck_after_days = forms.IntegerField(
        label=gettext_lazy("Tasks count as stuck after"),
        initial=STUCK_AFTER_DAYS,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=gettext_lazy("Days for which a release task may be open."),
    )
    event_days = forms.IntegerField(
        label=gettext_lazy("Events are kept for"),
        initial=EVENT_DAYS,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=gettext_lazy("Days for which clients can read what has changed."),
    )
    past_days = forms.IntegerField(
        label=gettext_lazy("Former states are kept for"),
        initial=PAST_DAYS,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=gettext_lazy("Days for which clients can read the content as it was at an earlier time ($asOf)."),
    )
    base = _choice(gettext_lazy("Base storage"), UnfoldAdminSelectWidget())
    quota_elements = _quota(gettext_lazy("Largest number of elements"))
    quota_bytes = _quota(gettext_lazy("Largest size in bytes"))
    quota_files = _quota(gettext_lazy("Largest number of files"))
    quota_history = _quota(gettext_lazy("Largest number of changes in the history"))

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        nothing = [("", "")]
        self._offer("collection", [("", _("New collection")), *((each.key, str(each)) for each in collections())])
        self._offer("template", [(name, name) for name in template_names()])
        for name in ("cultures", "mandatory_cultures"):
            self._offer(name, culture_names(get_language() or "en"))
        self._offer("default_culture", [*nothing, *culture_names(get_language() or "en")])
        self._offer("region", [("", _("Default of the installation: %s") % settings.DEFAULT_REGION), *region_names()])
        zones = [(name, name) for name in time_zone_names()]
        self._offer("time_zone", [("", _("Default of the installation: %s") % settings.DEFAULT_TIME_ZONE), *zones])
        storages = Storage.objects.select_related("collection")
        self._offer("base", [("", _("None")), *((str(each.pk), str(each)) for each in storages)])

    def _offer(self, name: str, choices: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  declared above
        field.choices = choices

    def clean_template_file(self) -> TemplateDocument | None:
        upload = self.cleaned_data["template_file"]
        try:
            return read_template(upload.read(), upload.name) if upload else None
        except Problem as problem:
            raise forms.ValidationError(list(problem.details)) from None

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if bool(given.get("collection")) == bool(given.get("new_collection")):
            self.add_error("new_collection", _("Choose a collection or enter the id of a new one, not both."))
        return given

    def provision(self) -> Storage | None:
        """Return the new storage, or None with errors in the form."""
        return self.attempt(lambda: provision_storage(self._request()))

    def _request(self) -> StorageRequest:
        given = self.cleaned_data
        return StorageRequest(
            collection=given["collection"] or given["new_collection"],
            key=given["key"],
            title=given["title"] or None,
            description=given["description"],
            template=given["template_file"] or given["template"] or template_names()[0],
            cultures=given["cultures"] or None,
            default_culture=given["default_culture"],
            mandatory_cultures=given["mandatory_cultures"] or None,
            region=given["region"] or None,
            time_zone=given["time_zone"] or None,
            anonymous=given["anonymous"],
            base=UUID(given["base"]) if given["base"] else None,
            stuck_after_days=given["stuck_after_days"],
            event_days=given["event_days"],
            past_days=given["past_days"],
            **{f"quota_{name}": given[f"quota_{name}"] for name in QUOTAS},
        )

    def place_of(self, text: str) -> tuple[str, str | None]:
        """Assign problems of existing ids to their fields, by the start of the text in each language."""
        taken = {_("The collection"): "new_collection", _("The storage"): "key"}
        found = next(((start, name) for start, name in taken.items() if text.startswith(f"{start} ")), None)
        return found or super().place_of(text)

    def add_problem(self, text: str) -> None:
        """Show problems that name no field of the form beside the template file."""
        if self.place_of(text)[1] is None and self.cleaned_data.get("template_file"):
            self.add_error("template_file", text)
        else:
            super().add_problem(text)


def collections() -> list[StorageCollection]:
    return list(StorageCollection.objects.all())


def region_names() -> list[tuple[str, str]]:
    names = Locale.parse(get_language() or "en", sep="-").territories
    return sorted(((code, f"{names.get(code, code)} ({code})") for code in region_codes()), key=lambda pair: pair[1])


@cache
def culture_names(language: str) -> tuple[tuple[int, str], ...]:
    found = ((lcid, culture_name(lcid, language)) for lcid in locale.windows_locale)
    return tuple(sorted(found, key=lambda pair: pair[1].casefold()))


def culture_name(lcid: int, language: str | None = None) -> str:
    """Return a name such as "German (Germany), 1031" in the language of the page."""
    name = locale_name(lcid) or ""
    try:
        shown = Locale.parse(name).get_display_name(language or get_language() or "en")
    except (UnknownLocaleError, ValueError):
        shown = None
    return f"{shown or name}, {lcid}"
