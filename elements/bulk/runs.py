"""Bulk changes as background jobs with a report (D471): requested once, run in batches, kept for a month."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone, translation
from django.utils.translation import gettext as _

from elements.bulk.batches import BulkBatch, run_batch
from elements.bulk.operations import read_operations
from elements.bulk.positions import settle_positions
from elements.models import BulkRefusal, BulkRun
from elements.permissions import READING, Permission, granted_to, needs_permission
from elements.writing.writers import Writer, settled_writer
from facets.clearance import visible_to_caller
from facets.configuration import CompiledView, Configuration, configuration_of
from repository_site.core.database.repeating import repeated
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem
from storage.access.callers import Caller, narrow_to
from storage.access.recalling import recall_caller
from storage.jobs.declaring import job, periodic_job
from storage.jobs.every_storage import in_every_storage
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope

State = BulkRun.State
# Elements of a selection that is changed at once, of a batch of a job, and of any selection.
SMALL, BATCH, MOST = 100, 200, 100_000
# Seconds after which a job lets other jobs run.
TURN = 10
KEPT = timedelta(days=30)
UNFINISHED = (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class BulkRequest:
    view: CompiledView
    operations: Sequence[Mapping[str, Any]]
    elements: Sequence[str]
    filter: str = ""
    dry_run: bool = False


def require_bulk(caller: Caller) -> None:
    """Refuse callers whose roles allow no change at all. Each element checks the rest."""
    if granted_to(caller) <= READING:
        raise Forbidden(needs_permission(Permission.EDIT))


def request_bulk(
    storage: Storage, writer: Writer, request: BulkRequest, *, is_kept: bool = False
) -> tuple[BulkRun, Sequence[BulkRefusal]]:
    """Change a small selection now, or have a job change a large one. Return the run and the refusals so far.

    A small preview is stored only with `is_kept`: otherwise its answer is complete.
    """
    caller, now, total = writer.caller, timezone.now(), len(request.elements)
    if total > MOST:
        raise Invalid(_("The selection has more than %(most)d elements; select fewer.") % {"most": MOST})
    operations = settle_positions(writer.configuration, request.operations, request.elements)
    run = BulkRun(
        facet=request.view.facet.name if request.view.view.name else "",
        view=request.view.view.name,
        filter=request.filter,
        operations=operations,
        elements=[UUID(each) for each in request.elements],
        is_dry_run=request.dry_run,
        state=State.WAITING,
        total=total,
        caller_id=caller.element_id,
        caller_label=caller.label,
        language=translation.get_language() or "",
        request_id=writer.author.request_id,
        created_on=now,
        changed_on=now,
    )
    if total > SMALL:
        caller.require_lasting()
        _refuse_second(caller)
        run.save(force_insert=True)
        run_bulk.enqueue(storage, run=str(run.id))
        return run, ()
    result = run_batch(writer, request.view, read_operations(operations), request.elements, dry_run=request.dry_run)
    refusals = _add(run, request.elements, result)
    run.state, run.finished_on = State.DONE, timezone.now()
    if is_kept or not request.dry_run:
        run.save(force_insert=True)
        BulkRefusal.objects.bulk_create(refusals)
    return run, refusals


def _refuse_second(caller: Caller) -> None:
    """Jobs of a storage run one after the other, so nobody may queue many of them, not even at the same time."""
    sql = "SELECT pg_advisory_xact_lock(hashtextextended('bulk ' || current_setting('repository.storage') || %s, 0))"
    fetch(sql, [caller.label])
    found = BulkRun.objects.defer("elements").filter(caller_label=caller.label, state__in=UNFINISHED).first()
    if found is not None:
        text = _(
            "Your bulk change %(id)s is not finished yet: %(processed)d of %(total)d elements. Wait for its end, or"
            " stop it."
        )
        raise Conflict(text % {"id": found.id, "processed": found.processed, "total": found.total})


def whole_view(configuration: Configuration) -> CompiledView:
    """Return a view without a name that has all types of a configuration, for changes across facets."""
    every = [view for facet in configuration.facets.values() for view in facet.views.values()]
    types = {key: shown for view in every for key, shown in view.types.items()}
    return replace(every[0], view=replace(every[0].view, name=""), types=types)


def view_of_run(configuration: Configuration, facet: str, view: str) -> CompiledView:
    return configuration.facet(facet).view(view) if facet else whole_view(configuration)


def find_run(caller: Caller, id: UUID, view: CompiledView | None = None) -> BulkRun:
    """Return a run of the caller, or any run for administrators; with a view, one of this view."""
    runs = BulkRun.objects.defer("elements").filter(id=id)
    if view is not None:
        runs = runs.filter(facet=view.facet.name if view.view.name else "", view=view.view.name)
    found = runs.first()
    if found is None or not (found.caller_label == caller.label or Role.ADMINISTRATOR in caller.roles):
        raise NotFound(_("There is no bulk change %(id)s.") % {"id": id})
    return found


def stop_run(caller: Caller, run: BulkRun) -> BulkRun:
    """Stop a run before its next batch, and return it. What it has changed so far stays; a finished run stays as it is.

    The batch that is running is waited for: it holds the lock of the row.
    """
    is_own = run.caller_label == caller.label
    _stop(run.id, _("Stopped by the caller.") if is_own else _("Stopped by an administrator."))
    return BulkRun.objects.defer("elements").get(id=run.id)


def _stop(id: UUID | str, reason: str) -> None:
    now = timezone.now()
    ended = {"state": State.STOPPED, "reason": reason, "changed_on": now, "finished_on": now}
    BulkRun.objects.filter(id=id, state__in=UNFINISHED).update(**ended)


def _fail(storage: Storage, run: str) -> None:
    """End a run whose job has failed for good. The cause may have words of other storages, so only operators see it."""
    found = BulkRun.objects.only("language").filter(id=run).first()
    if found is not None:
        with translation.override(found.language or None):
            text = _("An error in the service has stopped the change. Operators find it among the failed jobs.")
            _stop(run, text)


@job("elements.bulk", lock=(), retry=(5.0, 60.0, 600.0), own_scope=True, on_failure=_fail)
def run_bulk(storage: Storage, run: str) -> None:
    """Do what is left of a run, batch by batch. A batch and the place after it are one transaction, so a worker that is
    killed leaves no batch half done, and the next one does none twice."""
    end = time.monotonic() + TURN
    while repeated(partial(_next_batch, storage, run)):
        if time.monotonic() > end:
            run_bulk.enqueue(storage, run=run)
            return


def _next_batch(storage: Storage, id: str) -> bool:
    """Change the next elements; return whether there are more."""
    try:
        with tenant_scope(storage):
            return _run_next(storage, id)
    except Problem as problem:
        # Not the fault of one element: the quota is used up, or the view is gone.
        with tenant_scope(storage):
            _stop(id, problem.message)
        return False


def _run_next(storage: Storage, id: str) -> bool:
    run = BulkRun.objects.defer("elements").select_for_update().filter(id=id, state__in=UNFINISHED).first()
    if run is None:
        return False
    with translation.override(run.language or None):
        caller = recall_caller(storage, run.caller_label)
        if caller is None:
            raise Forbidden(_("The caller has no access to the storage any more."))
        sql = "SELECT unnest(b.elements[%s:%s])::text FROM elements_bulkrun b WHERE b.id = %s::uuid"
        elements = [row[0] for row in fetch(sql, [run.processed + 1, run.processed + BATCH, id])]
        writer = settled_writer(storage, caller, run.request_id)
        narrow_to(storage, lambda: caller)
        view = view_of_run(visible_to_caller(caller, configuration_of(storage)), run.facet, run.view)
        result = run_batch(writer, view, read_operations(run.operations), elements, dry_run=run.is_dry_run)
    refusals = _add(run, elements, result)
    is_last = run.processed >= run.total
    run.state, run.changed_on = State.DONE if is_last else State.RUNNING, timezone.now()
    run.finished_on = run.changed_on if is_last else None
    run.save(
        update_fields=["state", "processed", "changed", "unchanged", "refused", "changed_on", "finished_on"],
    )
    BulkRefusal.objects.bulk_create(refusals)
    return not is_last


def _add(run: BulkRun, elements: Sequence[str], result: BulkBatch) -> list[BulkRefusal]:
    """Add the result of a batch to the report, and return the refusals to store."""
    refusals = [
        BulkRefusal(run=run, element_id=UUID(each), place=run.processed + place, reasons=result.refused[each])
        for place, each in enumerate(elements)
        if each in result.refused
    ]
    run.processed += len(elements)
    run.changed += len(result.changed)
    run.refused += len(refusals)
    run.unchanged += len(elements) - len(result.changed) - len(refusals)
    return refusals


@periodic_job("elements.forget_bulk", cron="40 3 * * *")
def forget_old_runs() -> None:
    in_every_storage(forget_runs)


def forget_runs(storage: Storage) -> None:
    """Delete the reports of runs that were requested more than a month ago."""
    with tenant_scope(storage):
        old = list(BulkRun.objects.filter(created_on__lt=timezone.now() - KEPT).values_list("id", flat=True))
        BulkRefusal.objects.filter(run_id__in=old).delete()
        BulkRun.objects.filter(id__in=old).delete()
