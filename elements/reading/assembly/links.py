"""References of versions: their related contexts, including derived ones, resolved for one audience."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from elements import derived
from elements.reading import rows
from elements.reading.assembly.projection import Projection
from elements.reading.identities import Identities
from elements.reading.rows import Identity, VersionRow, VersionSummary
from repository_site.core.database.statements import Inquiry, Reading, engine, read

# Columns of a row that contain callers, in the order of contexts.
CALLER_FIELDS = {"changedBy": "changed_by", "createdBy": "created_by", "relBy": "released_by"}


@dataclass(frozen=True, slots=True)
class ReferenceLinks:
    """References of some versions. `identities` has the targets that the reader may see; other targets are left out."""

    references: Mapping[str, Mapping[str, Sequence[str]]]
    known: Mapping[str, Sequence[VersionSummary]]
    identities: Mapping[str, Identity]
    is_limited: bool = False
    """Whether permission sets may hide targets from the reader. Pages ask after the end of the scope."""

    def related(self, row: VersionRow, contexts: Iterable[str]) -> dict[str, list[Identity]]:
        """Return the contexts of a version that are not empty, in the given order."""
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
        held = self.references.get(row.version)
        if held is None:
            return False
        if self.is_limited:
            # The references also name authors who are hidden from the reader.
            return any(not self.identities.keys().isdisjoint(held.get(each, ())) for each in derived.AUTHOR_CONTEXTS)
        return any(map(held.__contains__, derived.AUTHOR_CONTEXTS))


NO_LINKS = ReferenceLinks({}, {}, {})


def read_links(
    identities: Identities, versions: Sequence[VersionRow], projection: Projection, most: int | None = None
) -> ReferenceLinks:
    """Read references of these versions in a separate round trip; raise TooHeavy if there are more than `most`."""
    inquiry = Inquiry()
    links = ask_links(inquiry, identities, versions, projection, most=most)
    inquiry.ask()
    return links(())


def ask_links(
    inquiry: Inquiry,
    identities: Identities,
    versions: Sequence[VersionRow],
    projection: Projection,
    *,
    all_versions: bool = False,
    most: int | None = None,
) -> Callable[[Iterable[str]], ReferenceLinks]:
    """Add two questions to a trip. The returned function, called after the trip, asks a third: for the identities of
    all targets and of the given other elements."""
    finding = finding_links(inquiry, identities, versions, projection, all_versions=all_versions, most=most)
    return lambda others: read(finding(others))


def finding_links(
    inquiry: Inquiry,
    identities: Identities,
    versions: Sequence[VersionRow],
    projection: Projection,
    *,
    all_versions: bool = False,
    most: int | None = None,
) -> Callable[[Iterable[str]], Reading[ReferenceLinks]]:
    stored = projection.stored_contexts
    references = inquiry.add(
        rows.references_of([row.version for row in versions], stored, most, is_identified_later=True)
    )
    # An element without versions has one row, with its own id.
    versioned = [row for row in versions if projection.types[row.type].type.is_versioned]
    wants_known = all_versions or derived.RELEASE_HISTORY in projection.contexts
    known = inquiry.add(rows.known_versions_of(identities.audience, versioned if wants_known else ()))

    def find(others: Iterable[str]) -> Reading[ReferenceLinks]:
        held = references()
        targets = {*others}
        for each in held.values():
            targets.update(*each.values())
        for context in projection.contexts & CALLER_FIELDS.keys():
            targets.update(caller for row in versions if (caller := getattr(row, CALLER_FIELDS[context])))
        found = yield from identities.reading(targets)
        return ReferenceLinks(held, known(), found, bool(engine().hidden))

    return find
