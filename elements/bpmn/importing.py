"""Import of a BPMN document into the diagram of a version (D283, D288), for the API, the back office and commands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from elements.bpmn.called_processes import called_elements, called_processes, own_processes
from elements.bpmn.calling_diagrams import link_callers
from elements.bpmn.document.model import BpmnFlow, BpmnLane, BpmnNode, SourceItem
from elements.bpmn.document.reading import ReadDocument, read
from elements.bpmn.document.vocabulary import own
from elements.bpmn.mapping import DiagramMapping
from elements.reading.rows import VersionRow
from elements.writing.diagrams.rewiring import DiagramReport, load_diagram, replace_diagram
from elements.writing.diagrams.wanted_diagrams import WantedSource
from elements.writing.findings import Findings
from elements.writing.stored import lock_targets
from elements.writing.updating import OnLocked
from elements.writing.writers import Writer
from facets.configuration import CompiledView

# Parts of a document that a response lists. A document can have hundreds of thousands; the counts have all of them.
MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Result of an import: what it changes, what only the document keeps, and what is lost."""

    changes: DiagramReport
    unchanged: int
    kept: tuple[SourceItem, ...]
    lost: tuple[SourceItem, ...]

    @property
    def counts(self) -> dict[str, int]:
        changes = self.changes
        lists = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
        counts = {name: len(found) for name, found in lists.items()}
        return {**counts, "unchanged": self.unchanged, "kept": len(self.kept), "lost": len(self.lost)}

    def wire(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "added": [*self.changes.added],
            "changed": [*self.changes.changed],
            "removed": [*self.changes.removed],
            "kept": [_item(each) for each in self.kept[:MOST_LISTED]],
            "lost": [_item(each) for each in self.lost[:MOST_LISTED]],
        }


def _item(each: SourceItem) -> dict[str, str]:
    return {"kind": each.kind, "bpmnId": each.id, "name": each.name, "text": each.text}


def import_bpmn(
    writer: Writer,
    view: CompiledView,
    owner: VersionRow,
    data: bytes,
    culture: int,
    on_locked: OnLocked,
    *,
    dry_run: bool = False,
) -> ImportReport:
    """Make the diagram of a version that of a document. The same document again changes nothing."""
    cultures = [str(lcid) for lcid in writer.configuration.cultures.data]
    found = read(data, cultures, str(culture))
    stored = load_diagram(owner, on_locked).drawn
    types = writer.configuration.types_by_id
    shown = lock_targets({each.element for each in stored.shapes}, ())
    mapping = DiagramMapping(
        stored,
        {each.element: types[each.type] for each in shown.values()},
        called_elements(writer, types[owner.type], view, found, owner.element),
        writer.configuration.types,
        found.culture,
        cultures,
    )
    wanted = mapping.wanted(found.model, _source(found))
    findings = Findings()
    report = replace_diagram(writer, view, owner, wanted, findings, on_locked, dry_run=dry_run)
    callers = link_callers(writer, owner, found, dry_run=dry_run)
    report = replace(report, changed=[*report.changed, *({"kind": "caller", "id": each} for each in callers)])
    total = len(found.model.nodes) + len(found.model.flows) + len(found.model.lanes)
    touched = sum(each["kind"] in DRAWN for each in (*report.added, *report.changed))
    return ImportReport(report, total - touched, found.kept, (*found.lost, *_other_cultures(found, cultures)))


DRAWN = frozenset({"shape", "flow", "lane"})


def _source(found: ReadDocument) -> WantedSource:
    """Return the document to store. It states the culture of its names, so that an export can translate them."""
    found.document.root.set(own("lcid"), found.culture)
    return WantedSource(found.document.text(), own_processes(found), called_processes(found))


def _other_cultures(found: ReadDocument, cultures: Collection[str]) -> list[SourceItem]:
    """Return the names in cultures that the storage does not have."""
    model = found.model
    parts: list[BpmnNode | BpmnFlow | BpmnLane] = [*model.nodes, *model.flows, *model.lanes]
    return [
        SourceItem("name", each.id, text, lcid)
        for each in parts
        for lcid, text in each.names.items()
        if lcid not in cultures
    ]
