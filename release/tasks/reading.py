"""Tasks as the API shows them, and counts of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elements.reading.assembly.assembler import Reader
from elements.reading.rows import read_identities, read_versions
from release.models import Task
from repository_site.core.database.statements import fetch
from repository_site.core.rest.datetimes import wire_datetime

# How long a task was or is open. The storage sets the limit.
AGES = ("underOneDay", "underOneWeek", "withinLimit", "overLimit")
SUMMARY = """
    SELECT t.type, t.state, a.age, count(*), count(t.stuck_on) FROM release_task t
      CROSS JOIN LATERAL (SELECT coalesce(t.decided_on, now()) - t.requested_on AS open) o
      CROSS JOIN LATERAL (SELECT CASE WHEN o.open > make_interval(days => %s) THEN 'overLimit'
            WHEN o.open < interval '1 day' THEN 'underOneDay' WHEN o.open < interval '7 days' THEN 'underOneWeek'
            ELSE 'withinLimit' END AS age) a
     GROUP BY t.type, t.state, a.age"""


def task_documents(reader: Reader, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Render any number of tasks with three statements, without empty fields (D8)."""
    rows = read_versions({str(each.version_id) for each in tasks}, with_attributes=False)
    people = {str(one) for each in tasks for one in (each.requester_id, each.assignee_id, each.decider_id) if one}
    identities = read_identities(reader.audience, people)
    found = []
    for task in tasks:
        document: dict[str, Any] = {
            "id": str(task.id),
            "type": task.type,
            "state": task.state,
            "element": reader.reference(rows[str(task.version_id)].identity),
            "transitionId": task.transition,
            "sourceState": task.source_state,
            "targetState": task.target_state,
            "requestedOn": wire_datetime(task.requested_on, reader.zone),
            "requester": task.requester_label,
            "isStuck": task.stuck_on is not None,
        }
        for name, person in (
            ("requestedBy", task.requester_id),
            ("assignee", task.assignee_id),
            ("decidedBy", task.decider_id),
        ):
            if str(person) in identities:
                document[name] = reader.reference(identities[str(person)])
        for name, text in (
            ("comment", task.comment),
            ("decider", task.decider_label),
            ("decision", task.decision),
            ("stuckReasons", task.stuck_reasons),
        ):
            if text:
                document[name] = text
        if task.approvals > 1:
            document["approvals"] = task.approvals
        for name, moment in (
            ("validUntil", task.valid_until),
            ("dueOn", task.due_on),
            ("decidedOn", task.decided_on),
            ("stuckOn", task.stuck_on),
        ):
            if moment is not None:
                document[name] = wire_datetime(moment, reader.zone)
        found.append(document)
    return found


def task_summary(limit: int) -> list[dict[str, Any]]:
    """Count the tasks by type, state and age, in this order, without zeros."""
    states = [each.value for each in Task.State]
    rows = sorted(fetch(SUMMARY, [limit]), key=lambda row: (row[0], states.index(row[1]), AGES.index(row[2])))
    return [
        {"type": type, "state": state, "age": age, "count": count, "stuck": stuck}
        for type, state, age, count, stuck in rows
    ]
