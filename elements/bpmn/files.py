"""BPMN files of a storage, for commands: import of many files, each in its own transaction, and export of diagrams."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import orjson
from django.conf import settings
from django.db import transaction

from elements.bpmn.document.reading import ReadDocument, read
from elements.bpmn.document.texts import read_names
from elements.bpmn.document.vocabulary import bpmn
from elements.bpmn.exporting import export_bpmn
from elements.bpmn.importing import ImportReport, import_bpmn
from elements.bpmn.mapping import one_line
from elements.naming import NAME
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Audience, VersionRow, find_version
from elements.writing.findings import Findings
from elements.writing.inputs import ElementInput, ReferenceInput
from elements.writing.updating import update_elements
from elements.writing.writers import Writer, settled_writer
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration, configuration_of
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Invalid, NotFound, TooLarge
from repository_site.core.wording import GUID, listed
from storage.access.callers import Caller, CallerKind
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope

SUFFIXES = (".bpmn", ".bpmn2", ".xml")
CALLER = Caller(CallerKind.STAFF, "import_bpmn", frozenset(Role))


def bpmn_files(path: Path) -> list[Path]:
    """Return a file, or the BPMN files of a folder and of the folders below it."""
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES and each.is_file())
    if not path.is_file():
        raise NotFound(f"There is no file or folder {path}.")
    return [path]


def read_file(path: Path) -> bytes:
    try:
        if path.stat().st_size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            raise TooLarge(f"{path}: the file has more than {most:,} bytes. Divide the model.")
        return path.read_bytes()
    except OSError as problem:
        raise NotFound(f"{path}: {problem.strerror or problem}.") from None


@dataclass(frozen=True)
class BpmnDesk:
    """Imports and exports the diagrams of one storage in one culture."""

    storage: Storage
    culture: int
    imported: dict[tuple[str, str, str], Path] = field(default_factory=dict)
    """Files by type, culture and name of the processes into which they were imported."""

    def import_into(self, element: str, data: bytes, *, dry_run: bool) -> ImportReport:
        with tenant_scope(self.storage):
            writer = settled_writer(self.storage, CALLER, "")
            reader = self._reader(writer.configuration)
            return self._import(writer, reader, _version(reader, element), data, dry_run=dry_run)

    def import_below(self, parent: str, type: str | None, path: Path, *, dry_run: bool) -> ImportReport:
        """Import a file into the process of its name below a parent, which is created as a draft if it is missing.

        A second file with the same name is refused, because it would replace the diagram of the first one. A dry run
        creates the process as well, and undoes everything: so it reports exactly what the import would change, also
        the diagrams that call the new process.
        """
        data = read_file(path)
        with tenant_scope(self.storage), transaction.atomic():
            writer = settled_writer(self.storage, CALLER, "")
            reader = self._reader(writer.configuration)
            above = _version(reader, parent)
            cultures = [str(lcid) for lcid in writer.configuration.cultures.data]
            found = read(data, cultures, str(self.culture))
            names = _process_names(found, cultures, path.stem)
            wanted = _process_type(writer.configuration, reader.types[above.type], type)
            keys = [(wanted.key, lcid, name) for lcid, name in names.items()]
            taken = next((self.imported[key] for key in keys if key in self.imported), None)
            if taken is not None:
                raise Invalid(f"{taken} has a process of the same name. Rename one of them, or use --element.")
            known = _child_called(above.element, str(writer.configuration.type_ids[wanted.key]), names)
            version = _version(reader, known or _create(writer, reader, above, wanted, names))
            report = self._import(writer, reader, version, data, dry_run=dry_run and known is not None)
            if dry_run:
                transaction.set_rollback(True)
            self.imported.update(dict.fromkeys(keys, path))
            return report

    def _import(self, writer: Writer, reader: Reader, row: VersionRow, data: bytes, *, dry_run: bool) -> ImportReport:
        view = reader.addresses.detail_view(reader.types[row.type])
        return import_bpmn(writer, view, row, data, self.culture, lambda rows: None, dry_run=dry_run)

    def diagrams(self) -> list[str]:
        """Return the elements whose newest version has shapes."""
        with tenant_scope(self.storage, snapshot=True):
            sql = """SELECT DISTINCT e.id::text FROM elements_element e
                JOIN elements_shape s ON s.version_id = e.newest_id ORDER BY 1"""
            return [row[0] for row in fetch(sql)]

    def export(self, element: str) -> bytes:
        with tenant_scope(self.storage, snapshot=True):
            reader = self._reader(configuration_of(self.storage))
            row = _version(reader, element)
            if not reader.types[row.type].has_diagram:
                raise Invalid(f"{element}: elements of the type {reader.types[row.type].key} have no diagram.")
            make = export_bpmn(reader, row, self.culture)
        return make()

    def export_all(self, elements: list[str]) -> Iterator[tuple[str, bytes]]:
        return ((each, self.export(each)) for each in elements)

    def _reader(self, configuration: Configuration) -> Reader:
        return Reader(configuration, Audience(True), ZoneInfo(self.storage.time_zone), "")


def _version(reader: Reader, element: str) -> VersionRow:
    row = find_version(reader.audience, element.lower()) if GUID.fullmatch(element) else None
    if row is None:
        raise NotFound(f"There is no element {element}.")
    return row


def _process_names(found: ReadDocument, cultures: Collection[str], default: str) -> dict[str, str]:
    """Return the names of the process: its own, or those of its pool or of the document, or the name of the file."""
    root = found.document.root
    places = [*root.iterfind(bpmn("process")), *root.iterfind(f"{bpmn('collaboration')}/{bpmn('participant')}"), root]
    for each in places:
        texts = read_names(each, found.culture)
        if names := {lcid: one_line(text) for lcid, text in texts.items() if lcid in cultures}:
            return names
    return {found.culture: default}


def _process_type(configuration: Configuration, above: ElementType, wanted: str | None) -> ElementType:
    types = [each for each in configuration.types.values() if each.has_diagram and above.key in each.parents]
    if wanted is not None:
        types = [each for each in types if each.key.casefold() == wanted.casefold()]
    # The first type whose diagrams show steps: others show processes only.
    types = [each for each in types if "task" in each.insertables] or types
    if not types:
        known = [each.key for each in configuration.types.values() if each.has_diagram and above.key in each.parents]
        hint = f"; choose {listed(known, 'or')}" if known else "; choose another parent"
        raise Invalid(f"No process {wanted or ''} can be created below an element of the type {above.key}{hint}.")
    return types[0]


def _child_called(parent: str, type: str, names: dict[str, str]) -> str | None:
    sql = """SELECT e.newest_id::text, v.attributes ->> 'name' FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.newest_id
        WHERE e.parent_id = %s::uuid AND e.type_id = %s::uuid ORDER BY e.position, e.rank, e.id"""
    for version, text in fetch(sql, [parent, type]):
        known = orjson.loads(text or "{}")
        if any(known.get(lcid) == name for lcid, name in names.items()):
            return str(version)
    return None


def _create(writer: Writer, reader: Reader, above: VersionRow, type: ElementType, names: dict[str, str]) -> str:
    given = ElementInput(
        "process",
        type=type.key,
        attributes={NAME: dict(names)},
        root_path=[ReferenceInput("process: rootPath", id=above.element)],
    )
    return update_elements(writer, reader.addresses.detail_view(type), [given], Findings(), lambda rows: None)[0]
