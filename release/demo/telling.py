"""Perform the story of the demo with the functions that the API and the back office call, each act at its time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from django.utils import timezone

from elements.models import Appearance
from elements.models.appearance import ONLY
from elements.people.subscriptions import subscribe
from elements.reading.assembly.attributes import read_exactly
from elements.reading.assembly.response_addresses import detail_view_of
from elements.reading.rows import VersionRow, read_versions
from elements.transfer.importing import ImportResult, import_elements
from elements.users import grant_of
from elements.writing import statements
from elements.writing.authors import changes_at
from elements.writing.findings import Findings
from elements.writing.inputs import ElementInput
from elements.writing.updating import update_elements
from elements.writing.writers import Writer, settled_writer
from facets.blueprint.cycles import Category
from facets.blueprint.private_content import USER_TYPE
from facets.configuration import settled_configuration
from release.demo.past import log_past
from release.demo.story import Act, Do, story
from release.lifecycle.transitions import TransitionRequest, apply_transition
from release.lifecycle.versions import create_version
from release.models import Task
from release.schedule.lifecycle_jobs import run_lifecycle
from release.steps.days import start_of_day
from release.steps.effects import with_state
from release.tasks.decisions import accept_task, delegate_task, reject_task, remind_task
from repository_site.core.database.statements import fetch
from storage.access.callers import Caller, CallerKind
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

# The import of the demo lies before the first act, and within the days that events are kept.
BEFORE_STORY = timedelta(days=75)
BEGIN_OF_WORK, WORKING_HOURS = time(8), timedelta(hours=9)
ENGLISH, GERMAN = "1033", "1031"
INTROS = {
    ENGLISH: "The process house of the bicycle maker Musterrad, to look around in.",
    GERMAN: "Das Prozesshaus des Fahrradherstellers Musterrad, zum Umsehen.",
}
# Facets in the order in which readers look for them, and those that only administrators need.
MENU = ["processes", "roles", "organization", "knowledge", "it"]
HIDDEN = ["cultures", "stereotypes"]
DECISIONS = {Do.ACCEPT: accept_task, Do.REJECT: reject_task, Do.REMIND: remind_task}


def fill_demo(storage: Storage, path: str) -> ImportResult:
    """Import the demo into an empty storage as if it were weeks ago, and perform the acts of the weeks since then."""
    now = timezone.now()
    with changes_at(now - BEFORE_STORY):
        result = import_elements(storage, path)
    with tenant_scope(storage):
        Appearance.objects.create(id=ONLY, intros=INTROS, menu=MENU, hidden=HIDDEN, changed_on=now - BEFORE_STORY)
        teller = StoryTeller(storage, now)
        teller.begin()
        for act in story():
            teller.perform(act)
    run_lifecycle(storage)
    return result


class StoryTeller:
    """Performs acts. `others` are callers beside the users of the storage."""

    def __init__(self, storage: Storage, now: datetime, others: Mapping[UUID, Caller] | None = None) -> None:
        self.storage, self.now, self.zone = storage, now, ZoneInfo(storage.time_zone)
        self.people = {**(others or {}), **read_people()}

    def begin(self) -> None:
        """Log the past, and turn the versions that wait back into drafts, which their authors submit in the story."""
        configuration = settled_configuration(self.storage)
        log_past(configuration, {person: caller.label for person, caller in self.people.items()}, self.now)
        sql = "SELECT v.id::text FROM elements_elementversion v WHERE v.category = %s"
        waiting = read_versions([row[0] for row in fetch(sql, [Category.REVIEW.value])]).values()
        cycles = [configuration.cycles[configuration.types_by_id[row.type].key] for row in waiting]
        drafts = [with_state(cycle, row, cycle.first_state) for cycle, row in zip(cycles, waiting, strict=True)]
        statements.set_states(drafts, self.now, None)

    def perform(self, act: Act) -> None:
        with changes_at(self.moment(act.days)):
            if act.do is Do.EXPIRE:
                run_lifecycle(self.storage)
                return
            row = _newest(act.element)
            writer = settled_writer(self.storage, self.people[UUID(act.who)], "")
            match act.do:
                case Do.GRANT:
                    _update(writer, row, row.version, {"roleApprover": {"127": True}})
                    self.people |= read_people()
                case Do.SUBSCRIBE:
                    subscribe(writer.caller, UUID(act.element), is_subtree=True)
                case Do.REVISE:
                    self._revise(writer, row, act)
                case Do.APPLY:
                    apply_transition(writer, row, self._request(act), named=act.element)
                case Do.DELEGATE:
                    delegate_task(writer, _open_task(row), act.text, UUID(act.key))
                case _:
                    DECISIONS[act.do](writer, _open_task(row), act.text)

    def _request(self, act: Act) -> TransitionRequest:
        end = None if act.ends is None else start_of_day(self.now + timedelta(days=act.ends), self.zone)
        return TransitionRequest(transition=act.key, comment=act.text, valid_until=end, ignore_warnings=True)

    def moment(self, days: float) -> datetime:
        """Return a time within the working hours of a day, and before the setup."""
        day = self.now.astimezone(self.zone).date() - timedelta(days=int(days))
        wanted = datetime.combine(day, BEGIN_OF_WORK, self.zone) + (1 - days % 1) * WORKING_HOURS
        return min(wanted.astimezone(UTC), self.now - days * timedelta(hours=1))

    def _revise(self, writer: Writer, row: VersionRow, act: Act) -> None:
        """Create a version with another sentence, which is also the reason for the revision."""
        version = create_version(writer, row, named=act.element)
        added, held = {GERMAN: act.german, ENGLISH: act.text}, read_exactly(row.attributes)
        name = "description" if "description" in held else "purp"
        form = "{old}<p>{new}</p>" if name == "description" else "{old} {new}"
        longer = {lcid: form.format(old=held[name][lcid], new=text) for lcid, text in added.items()}
        _update(writer, row, version, {name: longer, "reasonForRevision": added})


def _update(writer: Writer, row: VersionRow, version: str, attributes: dict[str, dict[str, Any]]) -> None:
    given = ElementInput(row.element, version=version, attributes=attributes)
    view = detail_view_of(writer.configuration, writer.configuration.types_by_id[row.type])
    update_elements(writer, view, [given], Findings(), lambda rows: None)


def read_people() -> dict[UUID, Caller]:
    """Return the users of the storage as callers with the roles that their elements grant."""
    sql = """SELECT e.id, v.attributes FROM elements_element e JOIN facets_elementtype t ON t.id = e.type_id
        JOIN elements_elementversion v ON v.id = e.newest_id WHERE t.key = %s"""
    found = {}
    for element, text in fetch(sql, [USER_TYPE]):
        attributes = orjson.loads(text)
        label = attributes["name"][ENGLISH]
        found[element] = Caller(CallerKind.STAFF, label, grant_of(attributes).roles, element)
    return found


def _newest(element: str) -> VersionRow:
    version = fetch("SELECT e.newest_id::text FROM elements_element e WHERE e.id = %s::uuid", [element])[0][0]
    return read_versions([version])[version]


def _open_task(row: VersionRow) -> UUID:
    return Task.objects.filter(version_id=UUID(row.version), state=Task.State.OPEN).values_list("id", flat=True)[0]
