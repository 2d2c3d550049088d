"""Limits of the installation on the size of content (D187), beside those of the type configuration.

Writing and import refuse content that grows beyond a limit. Content that was stored before may exceed one: it stays
readable, can be sent back unchanged, and can shrink.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from repository_site.core.database.statements import fetch
from repository_site.core.problems import placed
from repository_site.core.rest.rendering import to_json

# All attributes of an element together can be this many times as large as one.
ATTRIBUTES_AT_MOST = 10
# Number of places that a report names for each limit.
SHOWN = 20


@dataclass(frozen=True, slots=True)
class ContentLimit:
    """A limit of the installation. `text` describes its problem."""

    setting: str
    text: str
    times: int = 1
    """How many times the value of the setting."""

    @property
    def most(self) -> int:
        return int(getattr(settings, self.setting)) * self.times

    def problem(self, new: int, old: int = 0) -> str | None:
        """Return the problem of content with the size `new` that has the size `old` so far, or None."""
        most = self.most
        if new <= most or new <= old:
            return None
        return _(self.text) % {"count": new, "size": new, "most": most}


CONTEXT = ContentLimit(
    "MAX_REFERENCES", gettext_noop("%(count)d references; the installation allows %(most)d in a context")
)
REFERENCES = ContentLimit(
    "MAX_ELEMENT_REFERENCES",
    gettext_noop("%(count)d references in all contexts; the installation allows %(most)d for an element"),
)
VALUE = ContentLimit(
    "ATTRIBUTE_BYTES",
    gettext_noop("%(size)d bytes; the installation allows %(most)d for an attribute in a culture"),
)
ATTRIBUTES = ContentLimit(
    "ATTRIBUTE_BYTES",
    gettext_noop("%(size)d bytes of attributes; the installation allows %(most)d for an element"),
    ATTRIBUTES_AT_MOST,
)
# The level of the deepest element at or below a place in the tree; roots have level 1.
DEPTH = ContentLimit(
    "MAX_DEPTH", gettext_noop("the tree would have %(count)d levels here; the installation allows %(most)d")
)
CHILDREN = ContentLimit(
    "MAX_CHILDREN", gettext_noop("%(count)d children; the installation allows %(most)d for an element")
)
LANES = ContentLimit("MAX_SHAPES", gettext_noop("%(count)d lanes; the installation allows %(most)d in a diagram"))
SHAPES = ContentLimit("MAX_SHAPES", gettext_noop("%(count)d shapes; the installation allows %(most)d in a diagram"))
NESTING = ContentLimit(
    "MAX_DEPTH", gettext_noop("%(count)d levels inside each other; the installation allows %(most)d in a diagram")
)
FLOWS = ContentLimit(
    "MAX_ELEMENT_REFERENCES",
    gettext_noop("%(count)d flows between shapes; the installation allows %(most)d in a diagram"),
)


def value_sizes(attributes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Return name, culture and size of each value."""
    for name, values in attributes.items():
        for culture, value in values.items():
            yield name, culture, len(to_json(value))


def line_problems(
    length: int, attributes: Mapping[str, Mapping[str, Any]], related: Mapping[str, Sequence[object]], children: int
) -> Iterator[str]:
    """Return the problems of a line of a transfer file. A value is never longer than its line of `length` bytes."""
    if length > settings.ATTRIBUTE_BYTES:
        sizes = list(value_sizes(attributes))
        for name, culture, size in sizes:
            if problem := VALUE.problem(size):
                yield placed(f"{name}[{culture}]", problem)
        if problem := ATTRIBUTES.problem(sum(size for _name, _culture, size in sizes)):
            yield placed("attributes", problem)
    for name, targets in related.items():
        if problem := CONTEXT.problem(len(targets)):
            yield placed(name, problem)
    if problem := REFERENCES.problem(sum(map(len, related.values()))):
        yield placed("related", problem)
    if problem := CHILDREN.problem(children):
        yield placed("children", problem)


def content_over_limits() -> Iterator[str]:
    """Return what exceeds a limit in the storage of the scope, up to `SHOWN` places for each limit."""
    for limit, sql in _OVER.items():
        # The number of a limit is as often in its statement as this needs it.
        most = [limit.most] * (sql.count("%s") - 1)
        for *place, size in fetch(sql, [*most, SHOWN]):
            yield placed(_PLACES[len(place)].format(*place), str(limit.problem(size)))


# Parts of a place: a version or element; with a context; with an attribute and a culture.
_PLACES = {1: "{}", 2: "{}: {}", 3: "{}: {}[{}]"}
# Statements that find content over a limit, with its place and its size.
_OVER = {
    CONTEXT: """SELECT version_id::text, context, count(*) FROM elements_reference GROUP BY 1, 2
        HAVING count(*) > %s ORDER BY 1, 2 LIMIT %s""",
    REFERENCES: """SELECT version_id::text, count(*) FROM elements_reference GROUP BY 1
        HAVING count(*) > %s ORDER BY 1 LIMIT %s""",
    ATTRIBUTES: """SELECT id::text, octet_length(attributes::text) FROM elements_elementversion
        WHERE octet_length(attributes::text) > %s ORDER BY 1 LIMIT %s""",
    CHILDREN: """SELECT parent_id::text, count(*) FROM elements_element WHERE parent_id IS NOT NULL GROUP BY 1
        HAVING count(*) > %s ORDER BY 1 LIMIT %s""",
    SHAPES: """SELECT version_id::text, count(*) FROM elements_shape GROUP BY 1
        HAVING count(*) > %s ORDER BY 1 LIMIT %s""",
    LANES: """SELECT version_id::text, count(*) FROM elements_lane GROUP BY 1
        HAVING count(*) > %s ORDER BY 1 LIMIT %s""",
    FLOWS: """SELECT s.version_id::text, count(*) FROM elements_shapeflow f JOIN elements_shape s ON s.id = f.shape_id
        GROUP BY 1 HAVING count(*) > %s ORDER BY 1 LIMIT %s""",
    VALUE: """SELECT v.id::text, name.key, value.key, octet_length(value.value::text) FROM elements_elementversion v
        CROSS JOIN LATERAL jsonb_each(v.attributes) name CROSS JOIN LATERAL jsonb_each(name.value) value
        WHERE octet_length(v.attributes::text) > %s AND octet_length(value.value::text) > %s
        ORDER BY 1, 2, 3 LIMIT %s""",
    # Counts down from the roots, and not further than one level below the limit.
    DEPTH: """WITH RECURSIVE tree AS (
            SELECT id, 1 AS depth FROM elements_element WHERE parent_id IS NULL
            UNION ALL SELECT e.id, tree.depth + 1 FROM tree JOIN elements_element e ON e.parent_id = tree.id
            WHERE tree.depth <= %s)
        SELECT id::text, depth FROM tree WHERE depth > %s ORDER BY 1 LIMIT %s""",
}
