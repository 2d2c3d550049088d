"""One batch of a bulk change: all operations on some elements, in the transaction of the caller (D471)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from elements.bulk.operations import DELETE, EditStage, Stage, change_of
from elements.bulk.steps import delete_each, in_parts, newest_versions
from elements.extension import elements_extensions
from elements.writing.updating import UpdateOutcome, update_each
from elements.writing.writers import Writer
from facets.configuration import CompiledView
from repository_site.core.database.statements import id_array, look_up

# Reasons of an element that are kept, and characters of each.
MOST_REASONS, LONGEST_REASON = 5, 500


@dataclass(slots=True)
class BulkBatch:
    changed: set[str] = field(default_factory=set)
    refused: dict[str, list[str]] = field(default_factory=dict)


def run_batch(
    writer: Writer, view: CompiledView, stages: Sequence[Stage], elements: Sequence[str], *, dry_run: bool
) -> BulkBatch:
    """Apply the operations to each element as a whole: an element that refuses one of them stays as it was.

    A preview does the same and rolls it back, so that it says exactly what a run would do.
    """
    refused = _unknown(writer, view, elements)
    with transaction.atomic():
        while True:
            point = transaction.savepoint()
            batch = _Pass(writer, view, refused)
            batch.run(stages, [each for each in elements if each not in refused])
            if not batch.late:
                break
            # Earlier operations have already changed these elements, so all of it is done again without them.
            transaction.savepoint_rollback(point)
        transaction.set_rollback(dry_run)
    return BulkBatch(batch.changed, {each: _shortened(reasons) for each, reasons in refused.items()})


class _Pass:
    def __init__(self, writer: Writer, view: CompiledView, refused: dict[str, Sequence[str]]) -> None:
        self.writer = writer
        self.view = view
        self.refused = refused
        self.changed: set[str] = set()
        self.late: set[str] = set()
        """Elements that an operation refuses after an earlier one has changed them."""

    def run(self, stages: Sequence[Stage], elements: Sequence[str]) -> None:
        for stage in stages:
            left = [each for each in elements if each not in self.refused]
            # A later stage is a later change, with a time of its own.
            writer = replace(self.writer, author=replace(self.writer.author))
            if isinstance(stage, EditStage):
                update = partial(
                    update_each, writer, self.view, describe=partial(change_of, writer.configuration, stage)
                )
                for outcome in in_parts(left, update, lambda each, reasons: UpdateOutcome((), {each: reasons})):
                    self._note(outcome.changed, outcome.refused)
                continue
            rows = newest_versions(left)
            if stage.name == DELETE:
                refusals: Mapping[str, Sequence[str]] = delete_each(writer, rows)
            else:
                [step] = [each.bulk_steps[stage.name] for each in elements_extensions if stage.name in each.bulk_steps]
                refusals = step.take(writer, rows, stage.options)
                self.late |= refusals.keys() if step.has_parts else set()
            self._note([row.element for row in rows if row.element not in refusals], refusals)

    def _note(self, changed: Sequence[str], refused: Mapping[str, Sequence[str]]) -> None:
        self.late |= self.changed & refused.keys()
        self.refused.update(refused)
        self.changed |= {*changed} - refused.keys()


def _unknown(writer: Writer, view: CompiledView, elements: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the ids that are not elements of the view, with the reason."""
    sql = "SELECT e.id::text FROM elements_element e WHERE e.id = ANY(%s::uuid[]) AND e.type_id = ANY(%s::uuid[])"
    types = [str(writer.configuration.type_ids[key]) for key in view.types]
    known = {row[0] for row in look_up(sql, [id_array(elements), id_array(types)])}
    text = _("there is no such element")
    # The view of a change across facets has no name.
    if view.view.name:
        words = {"view": view.view.name, "facet": view.facet.name}
        text = _("there is no such element in the view %(view)s of the facet %(facet)s") % words
    return {each: [f"{text}."] for each in elements if each not in known}


def _shortened(reasons: Sequence[str]) -> list[str]:
    return [each if len(each) <= LONGEST_REASON else f"{each[:LONGEST_REASON]}…" for each in reasons[:MOST_REASONS]]
