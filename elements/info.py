"""Information about an element for a caller, operation 12. The rules are in `permissions` and `locks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from elements import derived
from elements.locks import Lock, find_lock
from elements.naming import NAME
from elements.permission_sets.callers import NOTHING, denials_of, denied_on
from elements.permissions import Permission, authors_in, permissions, role_permissions
from elements.reading import rows
from elements.reading.assembly.assembler import Reader, ancestors
from elements.reading.assembly.attributes import read_exactly
from elements.reading.names import chosen_name
from elements.reading.rows import Audience, Identity, VersionRow
from elements.writing.deleting import plan_deletion
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import Question, Reading, ask, ask_for, read
from storage.access.callers import Caller


@dataclass(frozen=True, slots=True)
class ShownIn:
    """A shape that shows an element, with the version of its diagram and the category of that version."""

    shape: str
    version: str
    category: str


@dataclass(frozen=True, slots=True)
class ElementStanding:
    """Rights of a caller on a version: the granted permissions, and the lock that prevents a change now."""

    drawn: list[ShownIn]
    authors: set[UUID]
    granted: frozenset[Permission]
    lock: Lock


def find_standing(reader: Reader, caller: Caller, row: VersionRow) -> ElementStanding:
    return read(reading_standing(reader, caller, row))


def reading_standing(reader: Reader, caller: Caller, row: VersionRow) -> Reading[ElementStanding]:
    type = reader.types[row.type]
    drawn, every_denial = yield [drawn_of(reader.audience, row.element), denials_of([row.element])]
    # An element that lives in a diagram also has the diagram's authors, because changing it changes the diagram.
    versions = [row.version, *(each.version for each in drawn if type.lives_in_diagrams)]
    held = yield from ask_for(rows.references_of(versions, derived.AUTHOR_CONTEXTS))
    authors, denied = authors_in(held.values()), every_denial.get(row.element, NOTHING)
    lock = find_lock(caller, type, row.category, authors, [each.category for each in drawn], denied)
    return ElementStanding(drawn, authors, permissions(caller, type, authors, denied), lock)


def element_info(reader: Reader, caller: Caller, view: CompiledView, row: VersionRow, culture: int) -> dict[str, Any]:
    type = reader.types[row.type]
    standing = find_standing(reader, caller, row)
    drawn, granted, lock = standing.drawn, standing.granted, standing.lock
    is_locked = lock is not Lock.NONE
    obstacles = plan_deletion(reader.types, row).obstacles()
    collection_lock = _collection_lock(reader, caller, type, lock)
    if Permission.NEW in denied_on([row.element]).get(row.element, NOTHING):
        collection_lock = Lock.NEVER
    takes_others = bool(type.insertables) or any(type.key in each.parents for each in reader.types.values())
    own_id = row.version
    attributes = read_exactly(rows.complete(row, (NAME,)).attributes)
    path = _root_path(reader, view, row) if view.view.is_hierarchical else []
    return {
        "elementTypeName": type.element_type_name,
        "entityIds": [own_id, *(each.shape for each in drawn)],
        "entityTypeName": type.entity_type_name,
        "facetTypeName": view.facet.type_name,
        "facetViewKey": view.view.key,
        "hasDiagram": type.has_diagram,
        "hasEditPermission": Permission.EDIT in granted,
        "id": own_id,
        "insertableDynamicTypes": {},
        "isCurrentCopyable": False,
        "isCurrentInsertable": collection_lock is Lock.NONE and takes_others,
        "isCurrentMovable": not is_locked and bool(type.parents) and not type.lives_in_diagrams,
        "isCurrentRemovable": not is_locked and Permission.DELETE in granted and not obstacles,
        "isReadOnly": is_locked,
        "isReadOnlyCollection": collection_lock is not Lock.NONE,
        "name": chosen_name(attributes.get(NAME, {}), culture, reader.configuration.cultures),
        "permissions": [each.value for each in Permission if each in granted],
        "readOnlyCollectionContext": collection_lock.value,
        "readOnlyContext": lock.value,
        "rootPath": [own_id, *path],
        "shapeId": drawn[0].shape if drawn and type.lives_in_diagrams else own_id,
        "typeColor": type.color,
        "uid": f"{path[0] if path else ''}_{own_id}",
    }


def read_drawn(audience: Audience, element: str) -> list[ShownIn]:
    """Return all shapes that show an element, in diagrams that the reader may see."""
    return ask(drawn_of(audience, element))


def drawn_of(audience: Audience, element: str) -> Question[list[ShownIn]]:
    visible = "" if audience.sees_drafts else " AND v.id = o.published_id"
    can_open = audience.opens("o")
    sql = f"""SELECT s.id::text, v.id::text, v.category FROM elements_shape s
        JOIN elements_elementversion v ON v.id = s.version_id JOIN elements_element o ON o.id = v.element_id
        WHERE s.element_id = %s::uuid{visible} AND {can_open.sql} ORDER BY s.id"""  # noqa: S608  constants
    return Question(sql, [element, *can_open.parameters], lambda rows: [ShownIn(*found) for found in rows])


def _collection_lock(reader: Reader, caller: Caller, type: ElementType, lock: Lock) -> Lock:
    """Return the lock that prevents adding elements. Below an element, callers may add the types that they may create;
    into its diagram, only if they may change it. An element that accepts nothing has its own lock."""
    children = [each for each in reader.types.values() if type.key in each.parents and not each.lives_in_diagrams]
    drawn = [each for each in reader.types.values() if each.key in type.insertables]
    possible = children + (drawn if lock is Lock.NONE else [])
    if any(Permission.NEW in role_permissions(caller, each) for each in possible):
        return Lock.NONE
    return lock if lock is not Lock.NONE or not (children or drawn) else Lock.NEVER


def _root_path(reader: Reader, view: CompiledView, row: VersionRow) -> list[str]:
    parents = rows.read_parents({row.parent} if row.parent else ())
    identities = rows.read_identities(reader.audience, parents.keys())
    found: list[Identity] = [identities[each] for each in ancestors(row.parent, parents) if each in identities]
    return [each.version for each in found if reader.types[each.type].key in view.types]
