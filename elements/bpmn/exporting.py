"""Export of the diagram of a version as a BPMN document (D287)."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from elements.bpmn.called_processes import written_names
from elements.bpmn.document.parsing import parse_stored
from elements.bpmn.generating.writing import ExportedProcess, write
from elements.bpmn.mapping import DESCRIPTION, ShownElement, model_of, process_id
from elements.naming import NAME
from elements.permission_sets.callers import hidden_among
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.bounds import most_text
from elements.reading.diagrams.drawings import read_diagram, read_source
from elements.reading.rows import VersionRow
from facets.clearance import scope_limits
from storage.tenancy.scope import whole_content


def export_bpmn(reader: Reader, row: VersionRow, culture: int) -> Callable[[], bytes]:
    """Read a diagram and return the function that writes its document, which needs no database."""
    stored = read_diagram(row.version)
    identities = rows.read_identities(reader.audience, {each.element for each in stored.shapes})
    wanted = [row.version, *(each.version for each in identities.values())]
    found = rows.read_versions(wanted, only=(NAME, DESCRIPTION), most=most_text(len(wanted)))
    shown = {element: found[each.version] for element, each in identities.items()}
    elements = {id: ShownElement(reader.types[each.type], orjson.loads(each.attributes)) for id, each in shown.items()}
    source = _seen_source(row.version)
    own = orjson.loads(found[row.version].attributes).get(NAME, {})
    cultures = reader.configuration.cultures
    order = [str(lcid) for lcid in dict.fromkeys((cultures.default, *cultures.data))]
    names = written_names([id for id, each in elements.items() if not each.type.lives_in_diagrams])
    model = model_of(stored, elements, str(culture), names)
    subject = ExportedProcess(process_id(row.element), own, [*names.values()])

    def make() -> bytes:
        return write(parse_stored(source) if source else None, model, subject, str(culture), order)

    return make


def _seen_source(version: str) -> str | None:
    """Return the imported document. Its notes may be about hidden elements, so it is only for callers who see the whole
    diagram (D491)."""
    if scope_limits() is not None:
        with whole_content():
            drawn = read_diagram(version)
        roles = {each.element for each in drawn.lanes if each.element}
        if hidden_among(roles.union(each.element for each in drawn.shapes)):
            return None
    return read_source(version)
