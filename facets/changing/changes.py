"""Changes to the configuration of a storage: as a whole from a template, or row by row in the back office.

Every change is checked before it is written: against the rules of templates, and for stored content that it would
orphan (D45).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.db import OperationalError
from django.utils.translation import gettext as _
from psycopg.errors import QueryCanceled

from facets.blueprint.definitions import Blueprint
from facets.blueprint.differences import BlueprintDifference, describe_differences, find_differences, hazards
from facets.changing.blueprint_checks import check_blueprint
from facets.extension import facets_extensions
from facets.permission_sets import PermissionSets
from facets.rows.drafts import Draft
from facets.rows.reading import Rows, StoredRows, blueprint_of, read_rows
from facets.rows.writing import write_blueprint, write_rows
from facets.template_format.reading import read_template
from facets.template_format.set_section import read_set_section, set_differences
from repository_site.core.problems import Busy, Conflict, Invalid, NotFound, placed
from storage.events.recording import record_configuration
from storage.localisation.cultures import CultureSet
from storage.models import Storage, StorageRevision
from storage.tenancy.scope import tenant_scope

Edit = Callable[[Draft], None]
TemplateSets = PermissionSets | None
"""Permission sets of a template; None if it says nothing about them."""


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """The differences that a new configuration would make, and the content that prevents it."""

    differences: list[str]
    obstacles: list[str]


@dataclass(frozen=True, slots=True)
class EditPlan:
    """The effect of an edit. `after` is None if the rows would not form a configuration."""

    stored: StoredRows
    before: Blueprint
    rows: Rows
    after: Blueprint | None
    differences: list[BlueprintDifference]
    problems: list[str]
    """Rules that the edit would break, each with its place."""
    obstacles: list[str]
    """Stored content that the edit would orphan."""

    @property
    def is_possible(self) -> bool:
        return not self.problems and not self.obstacles


class EditRefused(Conflict):
    """The edit was refused and nothing was written; the plan has the reasons."""

    def __init__(self, plan: EditPlan) -> None:
        super().__init__(_("The configuration cannot be changed in this way."), [*plan.problems, *plan.obstacles])
        self.plan = plan


def provision_configuration(storage: Storage, sections: Mapping[str, Any]) -> None:
    """Write the configuration of a new storage from the sections of its template."""
    write_blueprint(read_rows().rows, read_template(sections))
    if sets := read_set_section(sections):
        _replace_sets(sets)


def plan_change(storage: Storage, new: Blueprint, sets: TemplateSets = None) -> ConfigurationChange:
    with tenant_scope(storage):
        stored = read_rows()
        change = _compare(stored.blueprint, new)
    return replace(change, differences=[*change.differences, *map(str, set_differences(stored.sets, sets))])


def _compare(old: Blueprint, new: Blueprint) -> ConfigurationChange:
    return ConfigurationChange(describe_differences(old, new), find_obstacles(old, new))


def change_configuration(storage: Storage, new: Blueprint, sets: TemplateSets = None) -> ConfigurationChange:
    """Apply a new configuration, and permission sets if the template has any; raise Conflict with all content that it
    would orphan."""
    with _changing(storage):
        stored = read_rows()
        change, differences = _change(storage, stored, new), list(set_differences(stored.sets, sets))
        if sets is not None and differences:
            _replace_sets(sets)
            record_configuration(storage, _changed_places(differences))
        return replace(change, differences=[*change.differences, *map(str, differences)])


def _replace_sets(sets: PermissionSets) -> None:
    for extension in facets_extensions:
        if extension.replace_sets:
            extension.replace_sets(sets)


def rewrite_configuration(storage: Storage, rewrite: Callable[[Blueprint], Blueprint]) -> ConfigurationChange:
    """Apply a function to the current configuration; raise Invalid if the result breaks rules."""
    with _changing(storage):
        stored = read_rows()
        new = rewrite(stored.blueprint)
        problems = check_blueprint(new, stored.cultures)
        if problems:
            raise Invalid(_("The configuration cannot be changed in this way."), problems)
        return _change(storage, stored, new)


def _change(storage: Storage, stored: StoredRows, new: Blueprint) -> ConfigurationChange:
    change = _compare(stored.blueprint, new)
    if change.obstacles:
        raise Conflict(_("The change would orphan stored content."), change.obstacles)
    if change.differences:
        write_blueprint(stored.rows, new)
        record_configuration(storage, _changed_places(find_differences(stored.blueprint, new)))
    return change


def plan_edit(storage: Storage, edit: Edit, stored: StoredRows | None = None) -> EditPlan:
    """Return the effect of an edit without writing or locking anything. With `stored`, the rows are not read again."""
    with tenant_scope(storage):
        return _plan(edit, stored or read_rows())


def edit_configuration(storage: Storage, edit: Edit) -> EditPlan:
    """Apply an edit; raise EditRefused with every broken rule and all content that it would orphan."""
    with _changing(storage):
        plan = _plan(edit, read_rows())
        if plan.after is None or not plan.is_possible:
            raise EditRefused(plan)
        if plan.rows != plan.stored.rows:
            write_rows(plan.stored.rows, plan.rows, plan.after)
            record_configuration(storage, _changed_places(plan.differences))
        return plan


def _changed_places(differences: Sequence[BlueprintDifference]) -> list[str]:
    """Return the first two names of the place of each difference, such as `types.process`."""
    return sorted({".".join(each.path[:2]) for each in differences})


@contextmanager
def _changing(storage: Storage) -> Iterator[None]:
    """Lock the configuration, so content that is in use stays the same between check and write.

    Transactions that write elements hold a shared lock of the same row; a long import can make a change time out. The
    row of the storage itself is on every node of a cluster, so its lock would need all of them (D261).
    """
    with tenant_scope(storage):
        try:
            there = StorageRevision.objects.select_for_update(no_key=True).filter(pk=storage.pk).exists()
        except OperationalError as problem:
            if isinstance(problem.__cause__, QueryCanceled):
                raise Busy(_("The storage is being written to. Try again in a moment."), retry_after=5) from problem
            raise
        if not there:
            raise NotFound(_("There is no storage %(storage)s.") % {"storage": storage})
        yield


def _plan(edit: Edit, stored: StoredRows) -> EditPlan:
    before, draft = stored.blueprint, Draft(stored.rows)
    edit(draft)
    rows = draft.finish()
    if draft.problems:
        return EditPlan(stored, before, rows, None, [], draft.problems, [])
    after = blueprint_of(rows)
    problems = _new_problems(before, after, stored.cultures)
    obstacles = [] if problems else find_obstacles(before, after)
    return EditPlan(stored, before, rows, after, find_differences(before, after), problems, obstacles)


def _new_problems(before: Blueprint, after: Blueprint, cultures: CultureSet) -> list[str]:
    """Return only problems that the edit adds; otherwise two old problems could only be corrected together."""
    problems = [] if after == before else check_blueprint(after, cultures)
    known = set(check_blueprint(before, cultures)) if problems else set()
    return [problem for problem in problems if problem not in known]


def find_obstacles(old: Blueprint, new: Blueprint) -> list[str]:
    found = []
    for hazard in hazards(old, new):
        for extension in facets_extensions:
            use = extension.describe_use(hazard) if extension.describe_use else None
            if use is not None:
                place = ".".join(part for part in (hazard.type, hazard.property, hazard.value, hazard.state) if part)
                found.append(placed(place, _("%(what)s, but %(use)s.") % {"what": _(hazard.what), "use": use}))
    return found
