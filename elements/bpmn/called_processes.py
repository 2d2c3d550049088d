"""Processes of the storage that the call activities of a document name (D310)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import orjson

from elements.bpmn.document.reading import ReadDocument
from elements.bpmn.document.vocabulary import bpmn
from elements.bpmn.mapping import PROCESS, process_id
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import id_array, look_up

NamedProcess = tuple[str, str, str]
"""BPMN id of a process, its element, and the type of the element."""


def called_elements(
    writer: Writer,
    owner: ElementType,
    view: CompiledView,
    found: ReadDocument,
    itself: str | None = None,
    imported: Sequence[NamedProcess] = (),
) -> Mapping[str, str]:
    """Return elements by the names that the call activities of a document have for them.

    A name is the id of an exported process, or that of a process in a document that was imported before. Three kinds of
    names are not resolved: those that several elements share, those of the same document, and those of processes that
    the diagram of an element of the type `owner` cannot show. `imported` are processes that may not be stored yet.
    """
    own = {*own_processes(found)}
    named = {each.called: each.called.rpartition(":")[2] for each in found.model.nodes if each.called}
    named = {text: id for text, id in named.items() if id not in own}
    if not named:
        return {}
    types = writer.configuration.types_by_id
    elements: dict[str, set[str]] = {}
    for id, element, type in (*_by_own_id(named.values()), *_by_imported_id(named.values()), *imported):
        key = types[type].key
        is_drawable = types[type].has_diagram and key in owner.insertables and key in view.types
        if is_drawable and element != itself:
            elements.setdefault(id, set()).add(element)
    return {text: min(elements[id]) for text, id in named.items() if len(elements.get(id, ())) == 1}


def own_processes(found: ReadDocument) -> list[str]:
    return [each.get("id", "") for each in found.document.root.iterchildren(bpmn("process"))]


def called_processes(found: ReadDocument) -> list[str]:
    """Return the processes of other documents that the call activities of a document name."""
    own = own_processes(found)
    return sorted({each.called.rpartition(":")[2] for each in found.model.nodes if each.called}.difference(own))


def written_names(elements: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the BPMN ids by which call activities can name the processes of elements, the one for new calls first.

    That is the id in the imported document, where no other element has the same; then other tools find the process
    in its export.
    """
    if not elements:
        return {}
    sql = """SELECT e.id::text, b.processes::text FROM elements_bpmnsource b
        JOIN elements_elementversion v ON v.id = b.version_id JOIN elements_element e ON e.id = v.element_id
        WHERE e.id = ANY(%s::uuid[]) AND e.newest_id = b.version_id"""
    imported = {element: orjson.loads(found) for element, found in look_up(sql, [id_array(elements)])}
    single = {found[0]: element for element, found in imported.items() if len(found) == 1}
    owners: dict[str, set[str]] = {}
    for id, element, _type in _by_imported_id(single) if single else ():
        owners.setdefault(id, set()).add(element)
    preferred = {element: id for id, element in single.items() if len(owners.get(id, ())) == 1}
    return {
        each: tuple(dict.fromkeys((preferred.get(each, process_id(each)), process_id(each), *imported.get(each, ()))))
        for each in elements
    }


def _by_own_id(names: Collection[str]) -> Iterator[NamedProcess]:
    """Yield the processes that an export has named."""
    ids = {match.group(1) for name in names if (match := PROCESS.fullmatch(name))}
    sql = "SELECT e.id::text, e.type_id::text FROM elements_element e WHERE e.id = ANY(%s::uuid[])"
    for element, type in look_up(sql, [id_array(ids)]) if ids else ():
        yield process_id(element), element, type


def _by_imported_id(names: Collection[str]) -> Iterator[NamedProcess]:
    """Yield the processes of the documents in newest versions."""
    wanted = {*names}
    sql = """SELECT e.id::text, e.type_id::text, b.processes::text FROM elements_bpmnsource b
        JOIN elements_elementversion v ON v.id = b.version_id JOIN elements_element e ON e.id = v.element_id
        WHERE b.processes ?| %s::text[] AND e.newest_id = b.version_id"""
    for element, type, processes in look_up(sql, [sorted(wanted)]):
        for id in wanted.intersection(orjson.loads(processes)):
            yield id, element, type
