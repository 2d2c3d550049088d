"""What versions refer to: their related contexts, the derived ones among them, resolved for one audience."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from elements import derived
from elements.reading import rows
from elements.reading.projection import Projection
from elements.reading.rows import Audience, Identity, KnownVersion, VersionRow
from repository_site.database.statements import Inquiry

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


def read_links(audience: Audience, versions: Sequence[VersionRow], projection: Projection) -> Links:
    """What these versions refer to, on its own."""
    inquiry = Inquiry()
    links = ask_links(inquiry, audience, versions, projection)
    inquiry.ask()
    return links()


def ask_links(
    inquiry: Inquiry,
    audience: Audience,
    versions: Sequence[VersionRow],
    projection: Projection,
    *,
    drawn: Collection[str] = (),
    parents: Collection[str] = (),
    all_versions: bool = False,
) -> Callable[[], Links]:
    """Three questions. Identities are also those of what the diagrams of the versions `drawn` show, and of the elements
    `parents` and above."""
    ids, contexts = [row.version for row in versions], _stored_contexts(projection)
    references = inquiry.add(rows.references_of(ids, contexts))
    # An element without versions has one row, which has its own id.
    versioned = (row.element for row in versions if projection.types[row.type].type.is_versioned)
    wants_known = all_versions or derived.RELEASE_HISTORY in projection.contexts
    known = inquiry.add(rows.known_versions_of(audience, dict.fromkeys(versioned) if wants_known else ()))
    callers = {
        caller
        for context in projection.contexts & CALLER_FIELDS.keys()
        for row in versions
        if (caller := getattr(row, CALLER_FIELDS[context]))
    }
    identities = inquiry.add(rows.identities_around(audience, callers, ids, contexts, drawn=drawn, parents=parents))
    return lambda: Links(references(), known(), identities())


def _stored_contexts(projection: Projection) -> list[str]:
    shown = projection.contexts - NOT_STORED
    if any(derived.AUTHOR_NOTE in projection.types[each].derived for each in projection.shows):
        shown |= frozenset(derived.AUTHOR_CONTEXTS)
    return sorted(shown)
