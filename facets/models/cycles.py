from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from facets.blueprint.cycles import Category, Severity
from facets.models.base import ConfigurationModel, Texts
from storage.models.tenant import tenant_link


class ReleaseCycle(ConfigurationModel):
    """The states of versions and the transitions between them (D21)."""

    key = models.CharField(max_length=100)
    display_names = Texts()
    takes_effect = models.CharField(
        max_length=100,
        blank=True,
        help_text="State that a version in the first published state enters on its validFrom.",
    )

    class Meta:
        verbose_name, verbose_name_plural = _("release cycle"), _("release cycles")
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint("storage_id", Lower("key"), name="cycle_key_once")]


class CycleState(ConfigurationModel):
    cycle = tenant_link("facets.ReleaseCycle", "states")
    key = models.CharField(max_length=100)
    display_names = Texts()
    category = models.CharField(
        max_length=20, choices=[(each.value, each.value) for each in Category if each is not Category.STATIC]
    )
    task = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="Type of the tasks for versions in this state."
    )
    assignees = models.JSONField(default=list, db_default=[], blank=True, help_text="Contexts, in this order.")
    approvals = models.SmallIntegerField(
        default=1, db_default=1, help_text="How many assignees must accept; 0 means all of them."
    )
    due_days = models.SmallIntegerField(
        default=0, db_default=0, help_text="Days until a task is overdue; 0 means those of the storage."
    )
    accept = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="Transition when a task is accepted."
    )
    reject = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="Transition when a task is rejected."
    )

    class Meta:
        verbose_name, verbose_name_plural = _("state"), _("states")
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint("storage_id", "cycle", Lower("key"), name="state_key_once")]


class Transition(ConfigurationModel):
    cycle = tenant_link("facets.ReleaseCycle", "transitions")
    key = models.CharField(max_length=100, help_text="The transitionId of the API.")
    display_names = Texts()
    source = tenant_link("facets.CycleState", "+")
    target = tenant_link("facets.CycleState", "+")
    task = models.CharField(
        max_length=100, blank=True, help_text="Type of the task that must be accepted before the state changes."
    )
    ends_version = models.BooleanField(
        default=False, help_text="With a task: accepting the task ends the version on the requested day."
    )

    class Meta:
        verbose_name, verbose_name_plural = _("transition"), _("transitions")
        ordering = ["position", "id"]
        indexes = [
            models.Index(fields=["storage_id", "source"], name="transition_by_source"),
            models.Index(fields=["storage_id", "target"], name="transition_by_target"),
        ]
        constraints = [models.UniqueConstraint("storage_id", "cycle", Lower("key"), name="transition_key_once")]


class ValidationRule(ConfigurationModel):
    """Requires a value of a property before a version enters certain states or takes certain transitions (D22).

    The rule names states and transitions instead of linking to them, so it applies to every cycle that has them.
    """

    key = models.CharField(max_length=100)
    property = models.CharField(max_length=100)
    severity = models.CharField(max_length=20, choices=[(each.value, each.value) for each in Severity])
    messages = Texts()
    states = models.JSONField(default=list, blank=True)
    transitions = models.JSONField(default=list, blank=True)
    per_culture = models.BooleanField(default=False, help_text="A value in each mandatory culture.")

    class Meta:
        verbose_name, verbose_name_plural = _("validation rule"), _("validation rules")
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint("storage_id", Lower("key"), name="rule_key_once")]
