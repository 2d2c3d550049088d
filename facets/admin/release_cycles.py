"""Release cycles, with their states and transitions in tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.drafting.choice_fields import ListField, OpenRowField, Option
from facets.admin.drafting.model_admin import ConfigurationAdmin
from facets.admin.drafting.part_tables import PartTable
from facets.admin.drafting.preview_panel import ApiAnswer
from facets.admin.drafting.row_forms import ConfigurationForm, PartForm
from facets.admin.drafting.row_links import change_link
from facets.admin.drafting.snapshot import ConfigurationSnapshot
from facets.blueprint.cycles import Category
from facets.configuration import Configuration
from facets.rendering import list_transitions
from facets.rows.drafts import Draft
from facets.rows.reading import Row, Rows
from facets.state_categories import CATEGORY_NAMES
from repository_site.core.rest.rendering import counted
from storage.back_office import NavigationEntry, NavigationGroup, storage_office


def offer_states(form: ConfigurationForm, name: str, cycle_id: Any) -> None:
    """Offer states by row id, so they can be renamed, and states that the same form adds by their keys."""
    states = form.snapshot.owned(models.CycleState, cycle_id) if cycle_id else []
    options = [Option(row.id, row.key) for row in states]
    typed = form.data.get(form.add_prefix(name)) if form.is_bound else None
    if typed and typed not in {option.value for option in options}:
        options.append(Option(typed, typed))
    form.offer(name, options)


def find_state(draft: Draft, cycle_id: Any, chosen: str) -> Row | None:
    states = draft.owned(models.CycleState, cycle_id)
    return next((row for row in states if chosen in (row.id, row.key)), None)


class CycleForm(ConfigurationForm):
    takes_effect = OpenRowField(
        label=_("Takes effect automatically"),
        required=False,
        empty=_("No"),
        help_text=_(
            "A released state that versions in the first released state enter automatically on their validFrom."
        ),
    )

    def prepare(self) -> None:
        row = self.row
        offer_states(self, "takes_effect", row and row.id)
        if row is not None:
            state = find_state(self.snapshot.rows, row.id, row.takes_effect) if row.takes_effect else None
            self.initial["takes_effect"] = state.id if state else row.takes_effect

    def clean_takes_effect(self) -> str:
        return self.cleaned_data["takes_effect"] or ""

    def conclude(self, draft: Draft) -> None:
        state = find_state(draft, self.instance.pk, self.cleaned_data["takes_effect"])
        if state is not None:
            draft.change(models.ReleaseCycle, self.instance.pk, takes_effect=state.key)


class StateForm(PartForm):
    places: ClassVar[dict[str, str]] = {"type": "task", "dueDays": "due_days"}

    assignees = ListField(
        label=_("Assigned to"),
        help_text=_("The people in the first of these contexts get a task. Without any, every approver can decide."),
    )
    accept = OpenRowField(label=_("When accepted"), required=False, empty=_("Select value"))
    reject = OpenRowField(label=_("When rejected"), required=False, empty=_("Select value"))

    def prepare(self) -> None:
        snapshot = self.snapshot
        contexts = dict(snapshot.contexts)
        for key in self.instance.assignees or ():
            contexts.setdefault(key, key)
        self.offer("assignees", [Option(key, label) for key, label in sorted(contexts.items())])
        ways = snapshot.owned(models.Transition, self.owner.pk) if self.owner is not None else []
        for name in ("accept", "reject"):
            self.offer(name, [Option(way.key, way.key) for way in ways])
        for name in ("approvals", "due_days"):
            self.fields[name].required = False

    def clean_approvals(self) -> int:
        given = self.cleaned_data["approvals"]
        return 1 if given is None else int(given)

    def clean_due_days(self) -> int:
        return self.cleaned_data["due_days"] or 0

    def clean_accept(self) -> str:
        return self.cleaned_data["accept"] or ""

    def clean_reject(self) -> str:
        return self.cleaned_data["reject"] or ""


class States(PartTable):
    model = models.CycleState
    form = StateForm
    columns = ("key", "display_names", "category", "task")
    folded = ("assignees", "approvals", "due_days", "accept", "reject")
    verbose_name = _("state")
    verbose_name_plural = _("States")
    labels: ClassVar[dict[str, Any]] = {
        "key": _("Key"),
        "category": _("Category"),
        "task": _("Task"),
        "approvals": _("Approvals"),
        "due_days": _("Due after days"),
    }
    helps: ClassVar[dict[str, Any]] = {
        "task": _("For versions in review: the type of the task that opens when a version enters this state."),
        "approvals": _("How many assignees must accept; 0 means all of them."),
        "due_days": _("Days until a task is overdue; 0 means the number of days of the storage."),
        "key": _("The stored value, which the API shows. It cannot change while versions are in this state."),
        "category": _(
            "Versions in process can be changed, and everyone can see released versions. Versions enter"
            " the first state of a category automatically."
        ),
    }

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        offered = [(each.value, name) for each, name in CATEGORY_NAMES.items() if each is not Category.STATIC]
        options["choices"] = [("", _("Select value")), *offered]
        return super().formfield_for_choice_field(db_field, request, **options)


class TransitionForm(PartForm):
    places: ClassVar[dict[str, str]] = {"from": "source_state", "to": "target_state"}

    source_state = OpenRowField(label=_("From"))
    target_state = OpenRowField(label=_("To"))

    def prepare(self) -> None:
        for name in ("source_state", "target_state"):
            offer_states(self, name, self.owner.pk)
        if self.row is not None:
            self.start(source_state=self.row.source_id, target_state=self.row.target_id)

    def apply(self, draft: Draft) -> None:
        row: Any = self.instance
        cycle = draft.row(models.ReleaseCycle, row.cycle_id)
        for name, part in (("source", "from"), ("target", "to")):
            chosen = self.cleaned_data[f"{name}_state"]
            state = find_state(draft, row.cycle_id, chosen)
            if state is None:
                draft.problems.append(
                    f'releaseCycles.{cycle.key}.transitions.{row.key}.{part}: unknown state "{chosen}"'
                )
            setattr(row, f"{name}_id", state.id if state else chosen)
        super().apply(draft)


class Transitions(PartTable):
    model = models.Transition
    form = TransitionForm
    columns = ("key", "display_names", "source_state", "target_state", "task", "ends_version")
    fk_name = "cycle"
    verbose_name = _("transition")
    verbose_name_plural = _("Transitions")
    labels: ClassVar[dict[str, Any]] = {"key": _("Key"), "task": _("Task"), "ends_version": _("Ends the version")}
    helps: ClassVar[dict[str, Any]] = {
        "key": _("The transitionId in the API."),
        "task": _("For released versions: the type of the task that must be accepted before the state changes."),
        "ends_version": _("Accepting the task ends the version on the requested day."),
    }


@admin.register(models.ReleaseCycle, site=storage_office)
class ReleaseCycleAdmin(ConfigurationAdmin):
    form = CycleForm
    help = _(
        "The states of versions and the transitions between them. The category of the first state"
        " must be In process; a released and an expired state are required."
    )
    fieldsets = ((None, {"fields": ("key", "display_names", "takes_effect", "picture")}),)
    readonly_fields = ("picture",)
    inlines = (States, Transitions)
    list_display = ("row_key", "named", "state_names", "transition_count", "type_links")
    labels: ClassVar[dict[str, Any]] = {"key": _("Key")}
    helps: ClassVar[dict[str, Any]] = {"key": _("Identifies the cycle in templates.")}

    @admin.display(description=_("States"))
    def state_names(self, row: Any) -> str:
        snapshot: ConfigurationSnapshot = row.snapshot
        states = snapshot.owned(models.CycleState, row.pk)
        return " → ".join(snapshot.text(each.display_names, each.key) for each in states)

    @admin.display(description=_("Transitions"))
    def transition_count(self, row: Any) -> int:
        return len(row.snapshot.owned(models.Transition, row.pk))

    @admin.display(description=_("Types"))
    def type_links(self, row: Any) -> SafeString:
        found = row.snapshot.referring(models.ElementType, "release_cycle_id", row.pk)
        return format_html_join(
            ", ", "{}", ((change_link(models.ElementType(id=each.id), each.key),) for each in found)
        )

    @admin.display(description=_("Transitions by state"))
    def picture(self, row: Any) -> SafeString | str:
        if row._state.adding:
            return str(_("Add states and transitions below."))
        snapshot: ConfigurationSnapshot = row.snapshot
        states = snapshot.owned(models.CycleState, row.pk)
        keys = {state.id: state.key for state in states}
        ways = [{"way": way, "target": keys[way.target_id]} for way in snapshot.owned(models.Transition, row.pk)]
        shown = [
            {
                "state": state,
                "category": CATEGORY_NAMES[Category(state.category)],
                "ways": [each for each in ways if each["way"].source_id == state.id],
            }
            for state in states
        ]
        return SafeString(render_to_string("back_office/configuration/ways.html", {"states": shown}))

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        """Yield the transitions of each state for a caller with all permissions."""
        cycle = next(each for each in configuration.blueprint.cycles if each.key == row.key)
        for state in cycle.states:
            offered = list_transitions(each for each in cycle.transitions if each.source == state.key)
            if offered:
                yield ApiAnswer(f"rest/release/{{{state.key}}}/transitions", counted("values", offered))


storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.CONFIGURATION, _("Release cycles"), "published_with_changes", "facets_releasecycle_changelist"
    ),
)
