"""Hand over elements and tasks of one person to another, as a step of bulk changes (D474).

The person is replaced in the newest and in the published version, in any state: who is responsible is not content that
is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from elements.bulk.runs import MOST, whole_view
from elements.bulk.steps import BulkStep, Refusals, in_parts
from elements.reading.rows import VersionRow
from elements.related_contexts import accepts
from elements.writing.inputs import ElementInput, ReferenceInput
from elements.writing.updating import update_each
from elements.writing.writers import Writer
from facets.blueprint.private_content import USER_TYPE
from facets.configuration import Configuration
from release.models import Task
from release.tasks.approvers import find_person
from release.tasks.decisions import delegate_tasks
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Invalid, Unreadable, placed
from repository_site.core.wording import GUID
from storage.options import Role

HAND_OVER, OLD, NEW = "handOver", "from", "to"


def check_people(old: UUID, new: UUID) -> None:
    """Refuse people who are not users of the storage, or who cannot take anything over."""
    problems = []
    heir = find_person(new)
    if find_person(old) is None:
        problems.append(placed(OLD, _("there is no user %(id)s.") % {"id": old}))
    if heir is None:
        problems.append(placed(NEW, _("there is no user %(id)s.") % {"id": new}))
    elif not heir.is_active:
        problems.append(placed(NEW, _("the user %(id)s is inactive.") % {"id": new}))
    if old == new:
        problems.append(placed(NEW, _("expected another user.")))
    if problems:
        raise Invalid(problems[0], problems)


def held_by(configuration: Configuration, person: UUID) -> list[str]:
    """Return the elements that name a person in their newest or published version, or that have an open task for them.

    At most one more than a bulk change can have.
    """
    sql = """SELECT e.id::text FROM elements_reference r
            JOIN elements_elementversion v ON v.id = r.version_id JOIN elements_element e ON e.id = v.element_id
            WHERE r.target_id = %s::uuid AND r.context = ANY(%s::text[]) AND v.id IN (e.newest_id, e.published_id)
        UNION SELECT t.element_id::text FROM release_task t WHERE t.assignee_id = %s::uuid AND t.state = %s
        ORDER BY 1 LIMIT %s"""
    contexts = sorted({key for type in configuration.types for key in _contexts(configuration, type)})
    return [row[0] for row in fetch(sql, [person, contexts, person, Task.State.OPEN.value, MOST + 1])]


def holding(configuration: Configuration, people: Sequence[UUID]) -> set[UUID]:
    """Return those people who have something to hand over."""
    sql = """SELECT p.id FROM unnest(%s::uuid[]) AS p (id) WHERE EXISTS (SELECT FROM elements_reference r
            JOIN elements_elementversion v ON v.id = r.version_id JOIN elements_element e ON e.id = v.element_id
            WHERE r.target_id = p.id AND r.context = ANY(%s::text[]) AND v.id IN (e.newest_id, e.published_id))
        OR EXISTS (SELECT FROM release_task t WHERE t.assignee_id = p.id AND t.state = %s)"""
    contexts = sorted({key for type in configuration.types for key in _contexts(configuration, type)})
    return {row[0] for row in fetch(sql, [[*people], contexts, Task.State.OPEN.value])} if people else set()


def _contexts(configuration: Configuration, type: str) -> set[str]:
    """Return the contexts of a type in which people can be named."""
    user = configuration.types[USER_TYPE]
    found = [each for each in configuration.types[type].properties if each.related and not each.related.read_only]
    return {each.key for each in found if each.related and accepts(each.key, each.related, user)}


def _read(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(value, dict) or value.keys() != {OLD, NEW} or options:
        raise Unreadable('expected {"from": "…", "to": "…"} with the ids of two users.')
    if not all(isinstance(each, str) and GUID.fullmatch(each) for each in value.values()):
        raise Unreadable("expected the ids of two users.")
    return {name: each.lower() for name, each in value.items()}


def _take(writer: Writer, rows: Sequence[VersionRow], options: Mapping[str, Any]) -> Refusals:
    if Role.ADMINISTRATOR not in writer.caller.roles:
        text = _("This needs the role %(role)s.") % {"role": Role.ADMINISTRATOR}
        return {row.element: [text] for row in rows}
    refused: dict[str, Sequence[str]] = {}
    take = partial(_hand_over, writer, options[OLD], options[NEW])
    for some in in_parts(rows, take, lambda row, reasons: {row.element: reasons}):
        refused.update(some)
    return refused


def _hand_over(writer: Writer, old: str, new: str, rows: Sequence[VersionRow]) -> Refusals:
    elements = [row.element for row in rows]
    published = [row.published for row in rows if row.published and row.published != row.version]
    waiting = _current_tasks(elements)
    outcome = update_each(
        writer,
        whole_view(writer.configuration),
        elements,
        partial(_replaced, writer.configuration, old, new),
        published,
        in_any_state=True,
    )
    _keep_current(waiting)
    left = [each for each in elements if each not in outcome.refused]
    return {**outcome.refused, **_delegate(writer, UUID(old), UUID(new), left)}


def _replaced(
    configuration: Configuration, old: str, new: str, row: VersionRow, references: Mapping[str, Sequence[str]]
) -> ElementInput:
    contexts = _contexts(configuration, configuration.types_by_id[row.type].key)
    related = {}
    for name, ids in references.items():
        # Nobody becomes their own deputy.
        if name in contexts and old in ids and row.element != new:
            replaced = dict.fromkeys(new if each == old else each for each in ids)
            related[name] = [ReferenceInput(f"{row.element}: {name}[{index}]", id) for index, id in enumerate(replaced)]
    return ElementInput(row.element, row.element, row.version, related=related)


def _current_tasks(elements: Sequence[str]) -> list[str]:
    """Return the open tasks whose version has not changed since they were opened."""
    sql = """SELECT t.id::text FROM release_task t JOIN elements_elementversion v ON v.id = t.version_id
        WHERE t.element_id = ANY(%s::uuid[]) AND t.state = %s AND t.revision = v.revision"""
    return [row[0] for row in fetch(sql, [list(elements), Task.State.OPEN.value])]


def _keep_current(tasks: Sequence[str]) -> None:
    """Let tasks be decided although the version has another revision: its content is the same."""
    if tasks:
        sql = """UPDATE release_task t SET revision = v.revision FROM elements_elementversion v
            WHERE v.id = t.version_id AND t.id = ANY(%s::uuid[]) RETURNING 1"""
        fetch(sql, [list(tasks)])


def _delegate(writer: Writer, old: UUID, new: UUID, elements: Sequence[str]) -> Refusals:
    held = Task.objects.filter(assignee_id=old, state=Task.State.OPEN, element_id__in=[UUID(each) for each in elements])
    return delegate_tasks(writer, list(held.order_by("element_id", "id")), new)


HANDING_OVER = {HAND_OVER: BulkStep(_read, _take, has_parts=True)}
