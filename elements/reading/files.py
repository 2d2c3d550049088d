"""Files that a caller can read (D451): those of versions that the caller sees, own uploads; administrators read all."""

from __future__ import annotations

from collections.abc import Collection

from elements.permissions import sees_drafts
from facets.blueprint.data_types import DataType
from facets.clearance import visible_to_caller
from facets.configuration import Configuration
from repository_site.core.database.statements import id_array, look_up, text_array
from storage.access.callers import Caller
from storage.files.storing import COLUMNS, FileRow
from storage.options import Role

_READABLE = f"""SELECT {COLUMNS} FROM storage_storedfile f
    WHERE f.id = ANY(%s::uuid[]) AND (%s::boolean OR f.uploaded_by = %s::text
    OR EXISTS (SELECT FROM elements_versionfile u JOIN elements_elementversion v ON v.id = u.version_id
        JOIN elements_element e ON e.id = v.element_id
        JOIN unnest(%s::uuid[], %s::text[]) AS a (type, attribute) ON a.type = e.type_id AND a.attribute = u.attribute
        WHERE u.file_id = f.id AND (%s::boolean OR v.id = e.published_id)))"""  # noqa: S608  constants


def readable_files(
    caller: Caller, configuration: Configuration, files: Collection[str], *, hold: bool = False
) -> dict[str, FileRow]:
    """Return those of the files that the caller can read, by id, in one statement.

    `hold` keeps others from removing them until the transaction ends. `configuration` is the whole one.
    """
    shown = file_attributes_of_types(visible_to_caller(caller, configuration))
    types, attributes = id_array(type for type, _ in shown), text_array(name for _, name in shown)
    values = [
        id_array(files),
        Role.ADMINISTRATOR in caller.roles,
        caller.label,
        types,
        attributes,
        sees_drafts(caller),
    ]
    sql = f"{_READABLE} FOR KEY SHARE OF f" if hold else _READABLE
    return {row[0]: FileRow(*row) for row in look_up(sql, values)}


def file_attributes_of_types(configuration: Configuration) -> tuple[tuple[str, str], ...]:
    """Return the attributes with files that a part of the configuration shows, with the ids of their types."""

    def make() -> tuple[tuple[str, str], ...]:
        return tuple(
            (row, each.key)
            for row, type in configuration.types_by_id.items()
            if row not in configuration.closed
            for each in type.properties
            if each.attribute and each.attribute.data_type is DataType.FILES
        )

    return configuration.keep("file attributes", make)
