"""Diagrams that call the processes of an imported document (D311)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.conf import settings

from elements.bpmn.called_processes import NamedProcess, called_elements, own_processes
from elements.bpmn.document.parsing import parse_stored
from elements.bpmn.document.reading import DocumentReading, ReadDocument
from elements.bpmn.document.vocabulary import PLACEHOLDER
from elements.bpmn.mapping import shape_id
from elements.reading.assembly.response_addresses import detail_view_of
from elements.reading.diagrams.drawings import DrawnShape, StoredDiagram, read_source
from elements.reading.rows import VersionRow, read_versions
from elements.writing.deciding.drawn_elements import diagram_refusals
from elements.writing.diagrams.rewiring import load_diagram, replace_diagram
from elements.writing.diagrams.wanted_diagrams import WantedDiagram, WantedFlow, WantedShape
from elements.writing.findings import Findings
from elements.writing.inputs import ReferenceInput
from elements.writing.stored import lock_targets
from elements.writing.writers import Writer
from repository_site.core.database.statements import look_up
from repository_site.core.problems import Problem

# Diagrams that one import connects. Each is read, decided about and written like the imported one.
MOST_CALLERS = 100
# Those with a placeholder, so that the next import of the same document continues. Their documents together are not
# larger than one may be, so that they do not take much longer than the import itself.
CALLERS = """SELECT c.version::text FROM (SELECT b.version_id AS version, e.id,
        sum(octet_length(b.document)) OVER (ORDER BY e.id) - octet_length(b.document) AS before
    FROM elements_bpmnsource b
    JOIN elements_elementversion v ON v.id = b.version_id JOIN elements_element e ON e.id = v.element_id
    WHERE b.calls ?| %s::text[] AND e.newest_id = b.version_id AND e.id <> %s::uuid AND EXISTS (
        SELECT FROM elements_shape s JOIN elements_element x ON x.id = s.element_id
        WHERE s.version_id = b.version_id AND x.type_id = %s::uuid)) c
    WHERE c.before < %s::bigint ORDER BY c.id LIMIT %s::bigint"""


def link_callers(writer: Writer, owner: VersionRow, found: ReadDocument, *, dry_run: bool) -> list[str]:
    """Show the processes of an imported document in the drafts that were imported before and call them.

    Return the elements of these diagrams. A diagram that the caller cannot change stays as it is. With `dry_run`, the
    document is not stored yet, and nothing is written.
    """
    own, placeholder = own_processes(found), writer.configuration.type_ids.get(PLACEHOLDER)
    if placeholder is None:
        return []
    bounds = [settings.DATA_UPLOAD_MAX_MEMORY_SIZE, MOST_CALLERS]
    versions = [row[0] for row in look_up(CALLERS, [own, owner.element, placeholder, *bounds])]
    callers = read_versions(versions, with_attributes=False) if versions else {}
    imported = [(id, owner.element, owner.type) for id in own]
    return [
        callers[each].element
        for each in versions
        if each in callers and _link(writer, callers[each], imported, dry_run=dry_run)
    ]


def _link(writer: Writer, caller: VersionRow, imported: Sequence[NamedProcess], *, dry_run: bool) -> bool:
    """Replace the placeholders of a diagram whose processes the storage has; return whether there are any."""
    diagram = load_diagram(caller, lambda rows: None)
    source = read_source(caller.version)
    if source is None or any(diagram_refusals(writer, diagram)):
        return False
    type = writer.configuration.types_by_id[caller.type]
    view = detail_view_of(writer.configuration, type)
    document = parse_stored(source)
    model = DocumentReading(document.root, "").model()
    known = called_elements(writer, type, view, ReadDocument(document, model, ""), caller.element, imported)
    calls = {each.id: known[each.called] for each in model.nodes if each.called in known}
    targets = _targets(writer, diagram.drawn, calls)
    if not targets:
        return False
    try:
        wanted = _wanted(diagram.drawn, targets)
        replace_diagram(writer, view, caller, wanted, Findings(), lambda rows: None, dry_run=dry_run)
    except Problem:
        # Problems are found before anything is written; an import is never refused because of a call.
        return False
    return True


def _targets(writer: Writer, drawn: StoredDiagram, calls: Mapping[str, str]) -> dict[str, str]:
    """Return the processes that shapes should show instead of their placeholders."""
    calling = [each for each in drawn.shapes if shape_id(each) in calls]
    types = writer.configuration.types_by_id
    shown = lock_targets({each.element for each in calling}, ())
    return {each.shape: calls[shape_id(each)] for each in calling if types[shown[each.element].type].key == PLACEHOLDER}


def _wanted(drawn: StoredDiagram, targets: Mapping[str, str]) -> WantedDiagram:
    before: dict[str, list[WantedFlow]] = {}
    for flow in drawn.flows:
        before.setdefault(flow.shape, []).append(WantedFlow(flow.predecessor))

    def shape(each: DrawnShape) -> WantedShape:
        target = targets.get(each.shape)
        element = ReferenceInput(each.shape, id=target) if target else None
        return WantedShape(each.shape, each.shape, each.shape, element, before.get(each.shape, []))

    return WantedDiagram([shape(each) for each in drawn.shapes])
