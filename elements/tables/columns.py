"""Columns of a table of elements (D461): identity, place, attributes by culture, references by name and id. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from elements import derived
from facets.blueprint.definitions import ElementType, Property
from facets.configuration import CompiledView, TypeInView
from storage.localisation.cultures import INVARIANT_CULTURE

INVARIANT = str(INVARIANT_CULTURE)


class ColumnKind(Enum):
    ID = auto()
    REVISION = auto()
    TYPE = auto()
    STATE = auto()
    PARENT = auto()
    PARENT_ID = auto()
    VALUE = auto()
    TARGETS = auto()
    """Names of the targets of a related context."""
    TARGET_IDS = auto()


@dataclass(frozen=True, slots=True)
class Column:
    header: str
    kind: ColumnKind
    key: str = ""
    """Key of the property."""
    culture: str = ""


ID = Column("id", ColumnKind.ID)
# The version and its number of changes, by which an import notices changes of others since the export (D465).
REVISION = Column("revision", ColumnKind.REVISION)
TYPE = Column("type", ColumnKind.TYPE)
STATE = Column("state", ColumnKind.STATE)
PARENT = Column("parent", ColumnKind.PARENT)
PARENT_ID = Column("parent[id]", ColumnKind.PARENT_ID)
IDENTITY = (ID, REVISION, TYPE, STATE)
PLACE = (PARENT, PARENT_ID)
# They say the same of each element, or repeat its other versions; a table has them only if they are selected.
USUALLY_LEFT_OUT = frozenset({derived.AUTHOR_NOTE, derived.PAGE_ADDRESS, derived.RELEASE_HISTORY})
RESERVED = frozenset(each.header for each in (*IDENTITY, PARENT))


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table, and the properties that each type has in it, by the key of the type."""

    columns: tuple[Column, ...]
    properties: Mapping[str, Mapping[str, Property]]


def table_columns(
    types: Iterable[tuple[ElementType, Iterable[Property]]],
    cultures: Sequence[int],
    *,
    with_attributes: bool = True,
    with_related: bool = True,
    with_place: bool = True,
    order: Sequence[str] | None = None,
) -> TableColumns:
    """Return the columns for types with the properties that each of them shows. `order` lists the selected properties;
    without it, they have the order of the types."""

    def is_shown(property: Property) -> bool:
        is_wanted = property.key not in USUALLY_LEFT_OUT if order is None else property.key in order
        return is_wanted and (with_attributes if property.attribute else with_related)

    shown = {type.key: {each.key: each for each in properties if is_shown(each)} for type, properties in types}
    found: dict[str, dict[Column, None]] = {key: {} for key in order or ()}
    for properties in shown.values():
        for each in properties.values():
            found.setdefault(each.key, {}).update(dict.fromkeys(_columns_of(each, cultures)))
    columns = [column for each in found.values() for column in each]
    return TableColumns((*IDENTITY, *(PLACE if with_place else ()), *columns), shown)


def view_columns(
    view: CompiledView, cultures: Sequence[int], select: Sequence[str] | None, resources: frozenset[str]
) -> TableColumns:
    """Return the columns of a view, or of the selected properties of its types."""

    def properties(shown: TypeInView) -> Iterable[Property]:
        return shown.properties.values() if select is None else shown.type.properties

    return table_columns(
        [(each.type, properties(each)) for each in view.types.values()],
        cultures,
        with_attributes="attributes" in resources,
        with_related="related" in resources,
        with_place="rootPath" in resources,
        order=select,
    )


def _columns_of(property: Property, cultures: Sequence[int]) -> list[Column]:
    name = property_name(property.key)
    if property.attribute is None:
        return [
            Column(name, ColumnKind.TARGETS, property.key),
            Column(f"{name}[id]", ColumnKind.TARGET_IDS, property.key),
        ]
    if property.attribute.is_invariant_culture:
        return [Column(name, ColumnKind.VALUE, property.key, INVARIANT)]
    return [Column(f"{name}[{lcid}]", ColumnKind.VALUE, property.key, str(lcid)) for lcid in cultures]


def property_name(key: str) -> str:
    """Return the beginning of the headers of a property, which differs from those of other columns: headers are found
    without letter case."""
    return f"property {key}" if key.casefold() in RESERVED else key
