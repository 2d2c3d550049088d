"""Related contexts on their own, operations 7 and 8. Expanded references keep their addresses (D10)."""

from __future__ import annotations

from collections import Counter

from elements.filters.conditions import Condition
from elements.reading.assembly.assembler import Assembler, Expansions, Wire, add_part, expand
from elements.reading.assembly.links import read_links
from elements.reading.assembly.projection import RELATED
from elements.reading.assembly.reference_fields import Extras
from elements.reading.bounds import most_rows, most_text
from elements.reading.lists.selection import these_versions, version_ids
from elements.reading.rows import Identity, VersionRow


class RelatedAssembler(Assembler):
    def contexts(self, row: VersionRow, condition: Condition | None, *, with_attributes: bool) -> Wire:
        """Return the contexts of one element. `condition` tests the targets; `with_attributes` applies to the innermost
        level."""
        found = read_links(self.reader.identities, [row], self.projection).related(row, self.contexts_of(row))
        if condition is not None:
            found = _matching(found, condition)
        to_expand = Counter(each.version for context in self.wanted.expand for each in found.get(context, ()))
        most = most_rows(1)
        expansions = expand(self.reader, to_expand, with_attributes=with_attributes, most=most) if to_expand else {}
        given = {context: targets for context, targets in found.items() if self.fields.of(context)}
        return self.references(found, expansions, self.fields.read(given, most_text(1)))

    def expanded(self, target: Identity, expansions: Expansions, extras: Extras) -> Wire:
        found = dict(self.reference(target))
        if target.version in extras:
            found |= extras[target.version].wire
        add_part(found, RELATED, expansions.get(target.version))
        return found


def _matching(found: dict[str, list[Identity]], condition: Condition) -> dict[str, list[Identity]]:
    versions = sorted({target.version for targets in found.values() for target in targets})
    matching = version_ids(these_versions(versions).matching(condition)) if versions else set()
    kept = ((name, [each for each in targets if each.version in matching]) for name, targets in found.items())
    return {name: targets for name, targets in kept if targets}
