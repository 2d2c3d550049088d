"""Validation rules: what must be filled in before a version may go on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.drafting.base import ConfigurationAdmin
from facets.admin.drafting.choices import ListField, Option, RowField
from facets.admin.drafting.forms import ConfigurationForm
from facets.admin.drafting.previews import ApiAnswer
from facets.blueprint.cycles import Severity
from facets.configuration import Configuration
from facets.rows.reading import Row, Rows
from storage.back_office import NavigationEntry, NavigationGroup, storage_office

SEVERITY_NAMES = {
    Severity.ERROR: _("Error: the version cannot go on"),
    Severity.WARNING: _("Warning: it can, if the caller insists"),
}


class RuleForm(ConfigurationForm):
    places: ClassVar[dict[str, str]] = {
        "property": "property",
        "severity": "severity",
        "messages": "messages",
        "states": "states",
        "transitions": "transitions",
        "perCulture": "per_culture",
    }

    property = RowField(
        label=_("Property"),
        help_text=_("It must have a value. Types without the property are not concerned."),
    )
    states = ListField(
        label=_("When entering"), is_ordered=False, help_text=_("States of any release cycle that the rule guards.")
    )
    transitions = ListField(
        label=_("On transitions"), is_ordered=False, help_text=_("Transitions of any cycle that the rule guards.")
    )

    def prepare(self) -> None:
        """By their keys: a rule holds wherever there is something of that name."""
        desk = self.desk
        versioned = {row.id for row in desk.types.values() if row.is_versioned}
        properties: dict[str, str] = {}
        for row in desk.properties.values():
            if row.type_id in versioned:
                properties.setdefault(row.key, desk.label(row))
        self._offer("property", dict(sorted(properties.items())))
        for name, model in (("states", models.CycleState), ("transitions", models.Transition)):
            self._offer(name, {row.key: desk.label(row) for row in desk.rows.table(model)})

    def _offer(self, name: str, labels: dict[str, str]) -> None:
        """What the rule names stays an option, also when nothing has that name any more."""
        named = getattr(self.instance, name)
        for key in [named] if isinstance(named, str) else named or []:
            labels.setdefault(key, key)
        self.offer(name, [Option(key, label) for key, label in labels.items() if key])

    def clean_property(self) -> str:
        return str(self.cleaned_data["property"])


@admin.register(models.ValidationRule, site=storage_office)
class ValidationRuleAdmin(ConfigurationAdmin):
    form = RuleForm
    help = _("What must be filled in before a version may enter a state or take a transition.")
    fields = ("key", "property", "per_culture", "severity", "messages", "states", "transitions")
    list_display = ("row_key", "property_key", "severity_name", "told", "guarded")
    labels: ClassVar[dict[str, Any]] = {
        "key": _("Key"),
        "severity": _("When not met"),
        "per_culture": _("In every mandatory culture"),
    }
    helps: ClassVar[dict[str, Any]] = {
        "key": _("Templates know the rule by it."),
        "per_culture": _("A value in each mandatory culture, not just in any."),
    }
    words = ("key", "property")

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        options["choices"] = [("", _("Select value")), *((each.value, name) for each, name in SEVERITY_NAMES.items())]
        return super().formfield_for_choice_field(db_field, request, **options)

    @admin.display(description=_("Property"))
    def property_key(self, row: Any) -> str:
        return str(row.property)

    @admin.display(description=_("When not met"))
    def severity_name(self, row: Any) -> str:
        return str(SEVERITY_NAMES[Severity(row.severity)])

    @admin.display(description=_("Message"))
    def told(self, row: Any) -> str:
        return str(row.desk.text(row.messages, row.key))

    @admin.display(description=_("Guards"))
    def guarded(self, row: Any) -> str:
        return ", ".join([*row.states, *row.transitions])

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        """No operation answers rules; they show in what a transition is refused with."""
        return ()


storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Validation rules"), "rule", "facets_validationrule_changelist"),
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Layouts"), "view_quilt", "facets_layout_changelist"),
)
