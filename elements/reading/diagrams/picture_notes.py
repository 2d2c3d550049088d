"""Roles, systems, inputs and outputs of the elements in a diagram, for layouts that show them (D277)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import orjson

from elements.diagrams.drawables import NO_NOTES, ShapeNotes
from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.bounds import most_text
from elements.reading.names import chosen_name
from elements.reading.rows import References, VersionRow
from facets.blueprint.definitions import ElementType, Property
from repository_site.core.database.statements import Reading, ask_for, read


class NoteKind(StrEnum):
    ROLE = "role"
    OWNER = "owner"
    SYSTEM = "system"
    INPUT = "input"
    OUTPUT = "output"


# Contexts by their key, in lower case, whatever facet they lead to.
BY_KEY = {
    "roles": NoteKind.ROLE,
    "owner": NoteKind.OWNER,
    "systems": NoteKind.SYSTEM,
    "inputs": NoteKind.INPUT,
    "hasinput": NoteKind.INPUT,
    "outputs": NoteKind.OUTPUT,
    "hasoutput": NoteKind.OUTPUT,
}
BY_FACET = {"roles": NoteKind.ROLE, "it": NoteKind.SYSTEM}


@dataclass(frozen=True, slots=True)
class NoteTargets:
    """References by version and context, and the versions of their targets by element."""

    references: References
    versions: Mapping[str, VersionRow]

    def of(self, row: VersionRow) -> Mapping[str, Sequence[str]]:
        return self.references.get(row.version, {})


NO_TARGETS = NoteTargets({}, {})


def note_kind(property: Property) -> NoteKind | None:
    if property.related is None:
        return None
    return BY_KEY.get(property.key.casefold()) or BY_FACET.get(property.related.facet.casefold())


def note_contexts(type: ElementType) -> dict[str, NoteKind]:
    kinds = ((each.key, note_kind(each)) for each in type.properties)
    return {key: kind for key, kind in kinds if kind is not None}


def read_note_targets(reader: Reader, versions: Collection[VersionRow], others: Collection[str]) -> NoteTargets:
    """Read the references of versions and the names of their visible targets, and of other elements."""
    return read(reading_note_targets(reader, versions, others))


def reading_note_targets(
    reader: Reader, versions: Collection[VersionRow], others: Collection[str]
) -> Reading[NoteTargets]:
    types = {reader.types[each.type].key: reader.types[each.type] for each in versions}
    contexts = {key for type in types.values() for key in note_contexts(type)}
    references = yield from ask_for(rows.references_of([each.version for each in versions], sorted(contexts)))
    targets = {target for held in references.values() for found in held.values() for target in found}
    identities = yield from ask_for(rows.identities_of(reader.audience, targets | set(others)))
    wanted = [each.version for each in identities.values()]
    found = yield from rows.reading_versions(wanted, only=(NAME,), most=most_text(len(wanted)))
    return NoteTargets(references, {each.element: each for each in found.values()})


def shape_notes(
    reader: Reader, type: ElementType, held: Mapping[str, Sequence[str]], targets: NoteTargets, culture: int
) -> ShapeNotes:
    """Return the notes of an element by the targets that it has in each context."""
    if not held:
        return NO_NOTES
    found: dict[NoteKind, dict[str, None]] = {kind: {} for kind in NoteKind}
    for context, kind in note_contexts(type).items():
        for target in held.get(context, ()):
            name = _name(reader, targets, target, culture)
            if name:
                found[kind][name] = None
    roles = found[NoteKind.ROLE] or found[NoteKind.OWNER]
    return ShapeNotes(
        tuple(roles), tuple(found[NoteKind.SYSTEM]), tuple(found[NoteKind.INPUT]), tuple(found[NoteKind.OUTPUT])
    )


def _name(reader: Reader, targets: NoteTargets, target: str, culture: int) -> str:
    row = targets.versions.get(target)
    if row is None:
        return ""
    names = orjson.loads(row.attributes).get(NAME, {})
    return " ".join(chosen_name(names, culture, reader.configuration.cultures).split())
