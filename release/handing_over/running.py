"""Handing over from the command line: batch by batch, in the name of the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from elements.bulk.batches import BulkBatch, run_batch
from elements.bulk.operations import read_operations
from elements.bulk.runs import BATCH, MOST, whole_view
from elements.writing.writers import settled_writer
from facets.configuration import configuration_of
from release.handing_over.steps import HAND_OVER, NEW, OLD, check_people, held_by
from repository_site.core.database.repeating import repeated
from repository_site.core.problems import Invalid
from storage.access.callers import Caller, CallerKind
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope

OPERATOR = Caller(CallerKind.STAFF, "hand_over", frozenset(Role))


@dataclass(slots=True)
class HandOver:
    storage: Storage
    people: dict[str, str]
    elements: Sequence[str]
    dry_run: bool
    changed: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return len(self.elements)

    def batches(self) -> Iterator[str]:
        """Hand over, and return each element that is done."""
        for start in range(0, self.total, BATCH):
            some = self.elements[start : start + BATCH]
            result = repeated(partial(self._batch, some))
            self.changed += len(result.changed)
            self.refused |= result.refused
            yield from some

    def _batch(self, elements: Sequence[str]) -> BulkBatch:
        with tenant_scope(self.storage):
            writer = settled_writer(self.storage, OPERATOR, "")
            stages = read_operations([{HAND_OVER: self.people}])
            return run_batch(writer, whole_view(writer.configuration), stages, elements, dry_run=self.dry_run)


def hand_over(storage: Storage, old: UUID, new: UUID, *, dry_run: bool) -> HandOver:
    """Return the work to do; `batches` does it."""
    with tenant_scope(storage):
        check_people(old, new)
        elements = held_by(configuration_of(storage), old)
    if len(elements) > MOST:
        raise Invalid(f"The user has more than {MOST:,} elements; hand over parts of them in bulk changes.")
    return HandOver(storage, {OLD: str(old), NEW: str(new)}, elements, dry_run)
