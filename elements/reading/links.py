"""What versions refer to: their related contexts, the derived ones among them, resolved for one audience."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elements import derived
from elements.reading import rows
from elements.reading.projection import Projection
from elements.reading.rows import Audience, Identity, KnownVersion, VersionRow

# The columns of a row that hold callers, in the order of contexts.
CALLER_FIELDS = {"changedBy": "changed_by", "createdBy": "created_by", "relBy": "released_by"}
NOT_STORED = frozenset({*derived.CALLERS, derived.RELEASE_HISTORY})


@dataclass(frozen=True, slots=True)
class Links:
    """`identities` holds every target that the reader gets to see; the others are passed over."""

    references: Mapping[str, Mapping[str, Sequence[str]]]
    known: Mapping[str, Sequence[KnownVersion]]
    identities: Mapping[str, Identity]

    def related(self, row: VersionRow, contexts: Iterable[str]) -> dict[str, list[Identity]]:
        """The contexts of a version that are not empty, in the order given."""
        found: dict[str, list[Identity]] = {}
        held = self.references.get(row.version, {})
        for context in contexts:
            if context in held:
                targets: Sequence[str] = held[context]
            elif context in CALLER_FIELDS:
                caller = getattr(row, CALLER_FIELDS[context])
                targets = [caller] if caller else ()
            elif context == derived.RELEASE_HISTORY:
                if history := [each.identity for each in self.known.get(row.element, ()) if each.was_released]:
                    found[context] = history
                continue
            else:
                continue
            if visible := [self.identities[target] for target in targets if target in self.identities]:
                found[context] = visible
        return found

    def has_authors(self, row: VersionRow) -> bool:
        held = self.references.get(row.version, {})
        return any(context in held for context in derived.AUTHOR_CONTEXTS)


NO_LINKS = Links({}, {}, {})


def read_links(
    audience: Audience,
    versions: Sequence[VersionRow],
    projection: Projection,
    *,
    other_targets: Iterable[str] = (),
    all_versions: bool = False,
) -> Links:
    """Three statements at most. `other_targets` are elements that the caller needs identities of as well."""
    references = rows.read_references([row.version for row in versions], _stored_contexts(projection))
    known: Mapping[str, Sequence[KnownVersion]] = {}
    if all_versions or derived.RELEASE_HISTORY in projection.contexts:
        # An element without versions has one row, which has its own id.
        versioned = dict.fromkeys(row.element for row in versions if projection.types[row.type].type.is_versioned)
        known = rows.read_known_versions(audience, versioned)
    targets = set(other_targets)
    for by_context in references.values():
        for held in by_context.values():
            targets.update(held)
    for context in projection.contexts & CALLER_FIELDS.keys():
        targets.update(caller for row in versions if (caller := getattr(row, CALLER_FIELDS[context])))
    return Links(references, known, rows.read_identities(audience, targets))


def _stored_contexts(projection: Projection) -> list[str]:
    shown = projection.contexts - NOT_STORED
    if any(derived.AUTHOR_NOTE in projection.types[each].derived for each in projection.shows):
        shown |= frozenset(derived.AUTHOR_CONTEXTS)
    return sorted(shown)
