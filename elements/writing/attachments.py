"""Files in the attributes that a change sets (D451): checks, stored values, and the files of versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.reading.files import readable_files
from elements.values.files import files_in
from elements.writing.findings import Findings, invalid
from elements.writing.planned_changes import PlannedChange
from elements.writing.statements import execute
from elements.writing.writers import Writer
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import as_arrays, id_array, look_up
from storage.tenancy.scope import as_caller


def attach_files(writer: Writer, changes: Sequence[PlannedChange], findings: Findings) -> list[PlannedChange]:
    """Complete the files that changes put into attributes, and note those that the caller cannot read.

    Nobody can remove these files before the transaction ends. Return the changes of attributes with files.
    """
    attached = [each for each in changes if each.changed & file_attributes(each.type)]
    new = [(change, name, item) for change in attached for name, item in _files(change) if "size" not in item]
    if not new:
        return attached
    # A caller who attaches a file can read it, so it must not be one of a hidden element.
    with as_caller():
        found = readable_files(writer.caller, writer.configuration, {item["address"] for *_, item in new}, hold=True)
    for change, name, item in new:
        file = found.get(item["address"])
        if file is None:
            text = _("there is no file %(id)s in this storage; upload it first") % {"id": item["address"]}
            findings.note(invalid(f"{change.place}: {name}", text))
        else:
            item.setdefault("title", file.name)
            item.update(mimeType=file.media_type, size=file.size)
    return attached


def write_attached(changes: Sequence[PlannedChange]) -> None:
    """Write which files the attributes of changed versions have now."""
    if changes:
        forget_files([each.version for each in changes if not each.is_new])
        rows = {(each.version, name, item["address"]) for each in changes for name, item in _files(each)}
        insert_files(sorted(rows))


def insert_files(rows: Collection[tuple[str, str, str]]) -> None:
    """Insert rows of version, attribute and file."""
    if rows:
        sql = """INSERT INTO elements_versionfile (id, version_id, attribute, file_id)
            SELECT n.id, n.version, n.attribute, n.file
            FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::uuid[]) AS n (id, version, attribute, file)"""
        execute(sql, as_arrays([(str(uuid4()), *row) for row in rows]))
        # The week after which an unused file is removed begins again when no version has it any more (D454).
        used = (
            "UPDATE storage_storedfile SET unused_since = NULL WHERE id = ANY(%s::uuid[]) AND unused_since IS NOT NULL"
        )
        execute(used, [id_array({file for *_, file in rows})])


def forget_files(versions: Collection[str]) -> None:
    if versions:
        execute("DELETE FROM elements_versionfile WHERE version_id = ANY(%s::uuid[])", [id_array(versions)])


def copy_files(copies: Sequence[tuple[str, str]], left_out: Collection[str]) -> None:
    """Give copies of versions the files of their sources, except in some attributes, by pairs of source and copy."""
    # One statement for both would need intermediate results on a cluster (D252).
    sql = (
        "SELECT version_id::text, attribute, file_id::text FROM elements_versionfile WHERE version_id = ANY(%s::uuid[])"
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for source, name, file in look_up(sql, [id_array({source for source, _copy in copies})]):
        if name not in left_out:
            found.setdefault(source, []).append((name, file))
    insert_files([(copy, name, file) for source, copy in copies for name, file in found.get(source, ())])


def file_attributes(type: ElementType) -> frozenset[str]:
    """Return the attributes of a type that have files."""
    return frozenset(
        each.key for each in type.properties if each.attribute and each.attribute.data_type is DataType.FILES
    )


def _files(change: PlannedChange) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the files of the storage in all attributes of a change, with the names of the attributes."""
    for name in file_attributes(change.type):
        for item in files_in(change.attributes.get(name, {})):
            yield name, item
