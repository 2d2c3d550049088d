"""Limits of the installation on the size of content (D187), beside those of the type configuration.

Writing and import refuse content that grows beyond a limit. Content that was stored before may exceed one: it stays
readable, can be sent back unchanged, and can shrink.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from repository_site.core.database.statements import fetch
from repository_site.core.problems import placed
from repository_site.core.rest.rendering import to_json

# All attributes of an element together can be this many times as large as one.
ATTRIBUTES_AT_MOST = 10
# Number of places that a report names for each limit.
SHOWN = 20


def grows_beyond(new: int, old: int, most: int) -> bool:
    return new > most and new > old


def too_many_references(new: int, old: int = 0) -> str | None:
    """Return the problem of a related context, or None. `old` is its stored number of references, here and below."""
    most: int = settings.MAX_REFERENCES
    if not grows_beyond(new, old, most):
        return None
    return _("%(count)d references; the installation allows %(most)d in a context") % {"count": new, "most": most}


def too_many_references_of_element(new: int, old: int = 0) -> str | None:
    most: int = settings.MAX_ELEMENT_REFERENCES
    if not grows_beyond(new, old, most):
        return None
    text = _("%(count)d references in all contexts; the installation allows %(most)d for an element")
    return text % {"count": new, "most": most}


def too_large_value(new: int, old: int = 0) -> str | None:
    most: int = settings.ATTRIBUTE_BYTES
    if not grows_beyond(new, old, most):
        return None
    text = _("%(size)d bytes; the installation allows %(most)d for an attribute in a culture")
    return text % {"size": new, "most": most}


def too_large_attributes(new: int, old: int = 0) -> str | None:
    most = ATTRIBUTES_AT_MOST * settings.ATTRIBUTE_BYTES
    if not grows_beyond(new, old, most):
        return None
    text = _("%(size)d bytes of attributes; the installation allows %(most)d for an element")
    return text % {"size": new, "most": most}


def too_deep(new: int, old: int = 0) -> str | None:
    """Return the problem of a place in the tree, where the deepest element below it has the level `new`; roots have
    level 1."""
    most: int = settings.MAX_DEPTH
    if not grows_beyond(new, old, most):
        return None
    text = _("the tree would have %(count)d levels here; the installation allows %(most)d")
    return text % {"count": new, "most": most}


def too_many_children(new: int, old: int = 0) -> str | None:
    most: int = settings.MAX_CHILDREN
    if not grows_beyond(new, old, most):
        return None
    return _("%(count)d children; the installation allows %(most)d for an element") % {"count": new, "most": most}


def too_many_shapes(new: int, old: int = 0) -> str | None:
    most: int = settings.MAX_SHAPES
    if not grows_beyond(new, old, most):
        return None
    return _("%(count)d shapes; the installation allows %(most)d in a diagram") % {"count": new, "most": most}


def too_many_flows(new: int, old: int = 0) -> str | None:
    most: int = settings.MAX_ELEMENT_REFERENCES
    if not grows_beyond(new, old, most):
        return None
    text = _("%(count)d flows between shapes; the installation allows %(most)d in a diagram")
    return text % {"count": new, "most": most}


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
            if problem := too_large_value(size):
                yield placed(f"{name}[{culture}]", problem)
        if problem := too_large_attributes(sum(size for _name, _culture, size in sizes)):
            yield placed("attributes", problem)
    for name, targets in related.items():
        if problem := too_many_references(len(targets)):
            yield placed(name, problem)
    if problem := too_many_references_of_element(sum(map(len, related.values()))):
        yield placed("related", problem)
    if problem := too_many_children(children):
        yield placed("children", problem)


def content_over_limits() -> Iterator[str]:
    """Return what exceeds a limit in the storage of the scope, up to `SHOWN` places for each limit."""
    for version, context, count in fetch(
        """SELECT version_id::text, context, count(*) FROM elements_reference GROUP BY 1, 2
            HAVING count(*) > %s ORDER BY 1, 2 LIMIT %s""",
        [settings.MAX_REFERENCES, SHOWN],
    ):
        yield placed(f"{version}: {context}", str(too_many_references(count)))
    checks = [
        (_REFERENCES, settings.MAX_ELEMENT_REFERENCES, too_many_references_of_element),
        (_ATTRIBUTES, ATTRIBUTES_AT_MOST * settings.ATTRIBUTE_BYTES, too_large_attributes),
        (_CHILDREN, settings.MAX_CHILDREN, too_many_children),
        (_SHAPES, settings.MAX_SHAPES, too_many_shapes),
        (_FLOWS, settings.MAX_ELEMENT_REFERENCES, too_many_flows),
    ]
    for sql, most, problem in checks:
        for place, count in fetch(sql, [most, SHOWN]):
            yield placed(place, str(problem(count)))
    for version, name, culture, size in fetch(_VALUES, [settings.ATTRIBUTE_BYTES, settings.ATTRIBUTE_BYTES, SHOWN]):
        yield placed(f"{version}: {name}[{culture}]", str(too_large_value(size)))
    for element, depth in fetch(_DEPTHS, [settings.MAX_DEPTH, settings.MAX_DEPTH, SHOWN]):
        yield placed(element, str(too_deep(depth)))


_REFERENCES = """SELECT version_id::text, count(*) FROM elements_reference GROUP BY 1
    HAVING count(*) > %s ORDER BY 1 LIMIT %s"""
_ATTRIBUTES = """SELECT id::text, octet_length(attributes::text) FROM elements_elementversion
    WHERE octet_length(attributes::text) > %s ORDER BY 1 LIMIT %s"""
_CHILDREN = """SELECT parent_id::text, count(*) FROM elements_element WHERE parent_id IS NOT NULL GROUP BY 1
    HAVING count(*) > %s ORDER BY 1 LIMIT %s"""
_SHAPES = "SELECT version_id::text, count(*) FROM elements_shape GROUP BY 1 HAVING count(*) > %s ORDER BY 1 LIMIT %s"
_FLOWS = """SELECT s.version_id::text, count(*) FROM elements_shapeflow f JOIN elements_shape s ON s.id = f.shape_id
    GROUP BY 1 HAVING count(*) > %s ORDER BY 1 LIMIT %s"""
_VALUES = """SELECT v.id::text, name.key, value.key, octet_length(value.value::text) FROM elements_elementversion v
    CROSS JOIN LATERAL jsonb_each(v.attributes) name CROSS JOIN LATERAL jsonb_each(name.value) value
    WHERE octet_length(v.attributes::text) > %s AND octet_length(value.value::text) > %s ORDER BY 1, 2, 3 LIMIT %s"""
# Counts down from the roots, and not further than one level below the limit.
_DEPTHS = """WITH RECURSIVE tree AS (
        SELECT id, 1 AS depth FROM elements_element WHERE parent_id IS NULL
        UNION ALL SELECT e.id, tree.depth + 1 FROM tree JOIN elements_element e ON e.parent_id = tree.id
        WHERE tree.depth <= %s)
    SELECT id::text, depth FROM tree WHERE depth > %s ORDER BY 1 LIMIT %s"""
