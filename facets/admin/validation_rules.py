"""Validation rules, which require values before a version enters a state or takes a transition."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.drafting.choice_fields import ListField, Option, RowField
from facets.admin.drafting.model_admin import ConfigurationAdmin
from facets.admin.drafting.row_forms import ConfigurationForm
from facets.blueprint.cycles import Severity
from storage.back_office import NavigationEntry, NavigationGroup, storage_office

SEVERITY_NAMES = {
    Severity.ERROR: _("Error: the transition is refused"),
    Severity.WARNING: _("Warning: the caller can ignore it"),
}


class RuleForm(ConfigurationForm):
    property = RowField(
        label=_("Property"),
        help_text=_("The property that must have a value. The rule does not apply to types without it."),
    )
    states = ListField(
        label=_("On entering"),
        is_ordered=False,
        help_text=_("The rule is checked when a version enters one of these states, in any release cycle."),
    )
    transitions = ListField(
        label=_("On transitions"),
        is_ordered=False,
        help_text=_("The rule is checked on these transitions, in any release cycle."),
    )

    def prepare(self) -> None:
        """Offer keys, since a rule applies to everything with that key."""
        snapshot = self.snapshot
        versioned = {row.id for row in snapshot.types.values() if row.is_versioned}
        properties: dict[str, str] = {}
        for row in snapshot.properties.values():
            if row.type_id in versioned:
                properties.setdefault(row.key, snapshot.label(row))
        self._offer("property", dict(sorted(properties.items())))
        for name, model in (("states", models.CycleState), ("transitions", models.Transition)):
            self._offer(name, {row.key: snapshot.label(row) for row in snapshot.rows.table(model)})

    def _offer(self, name: str, labels: dict[str, str]) -> None:
        """Keep the current choice as an option, even if nothing has that key any more."""
        named = getattr(self.instance, name)
        for key in [named] if isinstance(named, str) else named or []:
            labels.setdefault(key, key)
        self.offer(name, [Option(key, label) for key, label in labels.items() if key])

    def clean_property(self) -> str:
        return str(self.cleaned_data["property"])


@admin.register(models.ValidationRule, site=storage_office)
class ValidationRuleAdmin(ConfigurationAdmin):
    form = RuleForm
    help = _("A validation rule requires a value before a version enters a state or takes a transition.")
    fields = ("key", "property", "per_culture", "severity", "messages", "states", "transitions")
    list_display = ("row_key", "property_key", "severity_name", "told", "guarded")
    labels: ClassVar[dict[str, Any]] = {
        "key": _("Key"),
        "severity": _("When not met"),
        "per_culture": _("In every mandatory culture"),
    }
    helps: ClassVar[dict[str, Any]] = {
        "key": _("Identifies the rule in templates."),
        "per_culture": _("Requires a value in each mandatory culture, not just in any culture."),
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
        return str(row.snapshot.text(row.messages, row.key))

    @admin.display(description=_("Checked on"))
    def guarded(self, row: Any) -> str:
        return ", ".join([*row.states, *row.transitions])


storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Validation rules"), "rule", "facets_validationrule_changelist"),
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Layouts"), "view_quilt", "facets_layout_changelist"),
)
