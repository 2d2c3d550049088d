"""Remove the values of a culture that a storage no longer has (D483): in batches, through the write path of updates."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson

from elements.cultures.uses import DRAWN, IN_VERSION
from elements.models import ElementChange
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import TooHeavy
from elements.reading.rows import VersionRow
from elements.writing import statements
from elements.writing.authors import Author
from elements.writing.history import HistoryEntry, record
from elements.writing.persisting import write_changes
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import elements_of, lock_elements
from elements.writing.writers import Writer
from facets.configuration import settled_configuration
from repository_site.core.database.statements import fetch, id_array
from storage.access.callers import Caller, CallerKind
from storage.jobs import job
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

BATCH = 100
# Seconds after which the job lets other jobs run.
TURN = 10
CALLER = "cultures"
FIRST = UUID(int=0)
_VERSIONS = f"""SELECT v.id::text FROM elements_elementversion v WHERE v.id > %s::uuid AND {IN_VERSION}
    ORDER BY v.id LIMIT {BATCH}"""  # noqa: S608  constants
_DIAGRAMS = f"SELECT d.version_id::text FROM ({DRAWN}) d ORDER BY 1 LIMIT {BATCH}"  # noqa: S608  constants


# Texts of a diagram in a culture: the part of the history, the statement, the name of the texts, and of their keys.
_DRAWN_TEXTS = (
    (
        "lanes",
        """SELECT l.version_id::text, l.id::text, l.name::text FROM elements_lane l
            WHERE l.version_id = ANY(%s::uuid[]) AND l.name ? %s::text ORDER BY l.version_id, l.position""",
        "name",
        ("laneId",),
    ),
    (
        "flows",
        """SELECT s.version_id::text, f.shape_id::text, f.predecessor_id::text, f.label::text
            FROM elements_shapeflow f JOIN elements_shape s ON s.id = f.shape_id
            WHERE s.version_id = ANY(%s::uuid[]) AND f.label ? %s::text
            ORDER BY s.version_id, s.position, f.position""",
        "label",
        ("shapeId", "predecessor"),
    ),
)
Note = dict[str, list[dict[str, Any]]]


@job("cultures.clear", lock=("lcid",), once=True, retry=(60.0, 600.0, 3600.0), own_scope=True)
def clear_culture(storage: Storage, lcid: int) -> None:
    end = time.monotonic() + TURN
    for _count in clear_values(storage, lcid):
        if time.monotonic() > end:
            clear_culture.enqueue(storage, lcid=lcid)
            return


def clear_values(storage: Storage, lcid: int) -> Iterator[int]:
    """Remove the values of a culture, and yield the number of versions of each batch, which is one transaction. It can
    be repeated, and ends if the storage has the culture again."""
    last = str(FIRST)
    while True:
        with tenant_scope(storage):
            writer = _writer(storage)
            if lcid in writer.configuration.cultures.data:
                return
            versions = [row[0] for row in fetch(_VERSIONS, [last, str(lcid)])]
            _clear_versions(writer, versions, str(lcid))
        if not versions:
            break
        last = versions[-1]
        yield len(versions)
    while diagrams := _clear_diagrams(storage, lcid):
        yield diagrams
    with tenant_scope(storage):
        texts = "UPDATE elements_appearance SET titles = titles - %s::text, intros = intros - %s::text"
        statements.execute(texts, [str(lcid), str(lcid)])
        statements.execute("UPDATE elements_permalink SET culture = NULL WHERE culture = %s::int", [lcid])


def _writer(storage: Storage) -> Writer:
    caller = Caller(CallerKind.TOKEN, CALLER, frozenset(), None)
    return Writer(settled_configuration(storage), caller, ZoneInfo(storage.time_zone), Author(None, CALLER, ""))


def _clear_versions(writer: Writer, versions: list[str], culture: str) -> None:
    if not versions:
        return
    try:
        stored = lock_elements((), versions, living_in_diagrams=writer.configuration.living_in_diagrams)
    except TooHeavy:
        # One element can always be changed, whatever it contains.
        for each in versions:
            _clear_versions(writer, [each], culture)
        return
    rows = [stored.versions[each] for each in versions if each in stored.versions]
    # The command and the job may clear at the same time: the one that waits for the lock finds nothing left.
    changes = [_without(writer, row, culture) for row in rows]
    write_changes(writer, [change for change in changes if change.changed])


def _without(writer: Writer, row: VersionRow, culture: str) -> PlannedChange:
    type = writer.configuration.types_by_id[row.type]
    attributes = read_exactly(row.attributes)
    kept = {
        name: {key: value for key, value in values.items() if key != culture} for name, values in attributes.items()
    }
    change = PlannedChange(
        row.version, type, row.element, row.version, row, {name: values for name, values in kept.items() if values},
        row.stereotype, row.valid_from, row.valid_until, parent=row.parent,
    )  # fmt: skip
    for name, values in attributes.items():
        if culture in values:
            change.changed.add(name)
            change.note("attributes", f"{name}[{culture}]", values[culture], None)
    return change


def _clear_diagrams(storage: Storage, lcid: int) -> int:
    """Remove the texts of lanes and flows of some diagrams, and return their number."""
    culture = str(lcid)
    with tenant_scope(storage):
        writer = _writer(storage)
        if lcid in writer.configuration.cultures.data:
            return 0
        versions = [row[0] for row in fetch(_DIAGRAMS, [culture, culture])]
        if not versions:
            return 0
        owners = elements_of(versions)
        lock_elements(owners.values(), ())
        notes = _removed_texts(versions, culture)
        changed = [each for each in versions if each in notes]
        ids = id_array(changed)
        lanes = "UPDATE elements_lane SET name = name - %s::text WHERE version_id = ANY(%s::uuid[])"
        flows = """UPDATE elements_shapeflow SET label = label - %s::text WHERE shape_id = ANY(ARRAY(
            SELECT s.id FROM elements_shape s WHERE s.version_id = ANY(%s::uuid[])))"""
        statements.execute(lanes, [culture, ids])
        statements.execute(flows, [culture, ids])
        statements.touch_versions(changed, writer.author.now, None)
        drawn = ElementChange.Action.DRAWN
        record(writer.author, [HistoryEntry(owners[each], each, drawn, *notes[each]) for each in changed])
    return len(versions)


def _removed_texts(versions: Sequence[str], culture: str) -> Mapping[str, tuple[Note, Note]]:
    """Return what the history shows of each diagram: its lanes and flows with a text in the culture, and without."""
    found: dict[str, tuple[Note, Note]] = defaultdict(lambda: ({}, {}))
    for part, sql, name, keys in _DRAWN_TEXTS:
        for version, *ids, text in fetch(sql, [id_array(versions), culture]):
            before: dict[str, str] = orjson.loads(text)
            after = {lcid: each for lcid, each in before.items() if lcid != culture}
            for note, texts in zip(found[version], (before, after), strict=True):
                note.setdefault(part, []).append({**dict(zip(keys, ids, strict=True)), name: texts})
    return found
