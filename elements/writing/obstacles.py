"""Obstacles to deleting elements (D19): children, references, and everything else that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from elements.reading.bounds import at_most, most_written_rows
from facets.clearance import scope_limits
from repository_site.core.database.statements import engine, fetch, id_array, look_up
from repository_site.core.problems import placed
from repository_site.core.wording import GUID
from storage.tenancy.scope import as_caller

REFERRED, DRAWN = "referred", "drawn"
WHAT = {
    "children": gettext_noop("it has children"),
    REFERRED: gettext_noop("other elements refer to it"),
    DRAWN: gettext_noop("it is drawn in the diagram"),
    "laned": gettext_noop("it has a lane in the diagram"),
    "created": gettext_noop("it has created elements"),
    "changed": gettext_noop("it has changed elements"),
    "released": gettext_noop("it has released elements"),
    "calls": gettext_noop("an active token acts for this user"),
    "enters": gettext_noop("a staff account belongs to this user"),
    "named": gettext_noop("a permission set names it"),
}
# Number of obstacles that a message names.
SHOWN = 5


# Users and groups that permission sets name. The sets of deleted elements keep their history hidden, and
# nobody could change them.
GRANTEES = """facets_permissionset p CROSS JOIN LATERAL jsonb_each(p.entries) AS x (permission, ids)
            CROSS JOIN LATERAL jsonb_array_elements_text(x.ids) AS g (id)
            CROSS JOIN LATERAL ((SELECT 1 FROM elements_element o WHERE o.creation_id = p.creation_id LIMIT 1)
                UNION ALL (SELECT 1 FROM facets_facet t WHERE t.id = p.facet_id)) AS h"""


class _Kind(NamedTuple):
    """Rows that need an element: their text, table and two columns, and the list of those that go together."""

    found: str
    table: str
    needed: str
    needing: str
    together: str = "versions"


KINDS = {
    "children": _Kind("c.id::text", "elements_element c", "c.parent_id", "c.id", "elements"),
    REFERRED: _Kind("r.context || ' ' || r.version_id::text", "elements_reference r", "r.target_id", "r.version_id"),
    DRAWN: _Kind("s.version_id::text", "elements_shape s", "s.element_id", "s.version_id"),
    "laned": _Kind("l.version_id::text", "elements_lane l", "l.element_id", "l.version_id"),
    "created": _Kind("v.id::text", "elements_elementversion v", "v.created_by_id", "v.id"),
    "changed": _Kind("v.id::text", "elements_elementversion v", "v.changed_by_id", "v.id"),
    "released": _Kind("v.id::text", "elements_elementversion v", "v.released_by_id", "v.id"),
    "named": _Kind("p.number::text", GRANTEES, "g.id::uuid", "p.id"),
}
SEEN = """SELECT e.id::text FROM elements_element e WHERE e.id = ANY(%s::uuid[])
    UNION SELECT v.id::text FROM elements_elementversion v WHERE v.id = ANY(%s::uuid[])"""
# A distributed database has these tables elsewhere.
PEOPLE_SQL = """
    (SELECT 'calls', t.name, (CASE WHEN t.id = ANY(%(elements)s::uuid[]) THEN t.id ELSE t.user_id END)::text
        FROM storage_apitoken t
      WHERE t.storage_id = current_setting('repository.storage')::uuid AND t.revoked_on IS NULL
        AND (t.id = ANY(%(elements)s::uuid[]) OR t.user_id = ANY(%(elements)s::uuid[])) LIMIT %(total)s)
    UNION ALL (SELECT 'enters', a.username, m.user_id::text FROM storage_storagemembership m
      JOIN storage_staffaccount a ON a.id = m.account_id
      WHERE m.storage_id = current_setting('repository.storage')::uuid AND m.user_id = ANY(%(elements)s::uuid[])
      LIMIT %(total)s)
"""


@dataclass(frozen=True, slots=True)
class Needs:
    """Everything that needs some elements: kind and text, by the needed element."""

    outside: Mapping[str, Sequence[tuple[str, str]]]
    """Needs of what stays, a few of each kind."""
    inside: Sequence[tuple[str, str, str, str]]
    """Needs of those that go together: kind, text, the needed element, and the element or version that needs it."""


def find_obstacles(elements: Sequence[str], versions: Sequence[str], *, also_shapes: bool = True) -> list[str]:
    """Return a sentence for each kind of obstacle, ignoring these elements and versions themselves."""
    found = _find_outside(elements, versions, SHOWN + 1, also_shapes=also_shapes)
    return sentences((what, text) for what, text, _needed in found)


def find_needs(elements: Sequence[str], versions: Sequence[str], *, also_shapes: bool = True) -> Needs:
    """Return what needs any of many elements, with two statements, or three on a cluster."""
    outside: dict[str, list[tuple[str, str]]] = {}
    for what, text, needed in _find_outside(elements, versions, None, also_shapes=also_shapes):
        outside.setdefault(needed, []).append((what, text))
    most = most_written_rows()
    parts = [
        f"""SELECT '{what}', {each.found}, {each.needed}::text, {each.needing}::text FROM {each.table}
        WHERE {each.needed} = ANY(%(elements)s::uuid[]) AND {each.needing} = ANY(%({each.together})s::uuid[])"""  # noqa: S608  constants
        for what, each in _kinds(also_shapes=also_shapes).items()
    ]
    sql = f"{' UNION ALL '.join(parts)} LIMIT {most + 1:d}"
    inside = fetch(sql, {"elements": list(elements), "versions": list(versions)})
    return Needs(outside, [(what, text, needed, needing) for what, text, needed, needing in at_most(inside, most)])


def sentences(found: Iterable[tuple[str, str]]) -> list[str]:
    """Return a sentence for each kind among needs. It names nothing that the caller does not see (D493)."""
    named: dict[str, list[str]] = {}
    every = list(found)
    hidden = _hidden(text.rsplit(" ", 1)[-1] for _what, text in every)
    for what, text in every:
        if text.rsplit(" ", 1)[-1] in hidden:
            continue
        names, name = named.setdefault(what, []), _place(text) if what == REFERRED else text
        if name not in names:
            names.append(name)
    texts = [placed(_(WHAT[what]), _shown(names)) for what, names in named.items()]
    # A read is computed without them. A change must keep them.
    return texts or ([_("elements that you cannot see need it")] if hidden and not engine().hidden else [])


def _hidden(needing: Iterable[str]) -> set[str]:
    """Return those of some elements and versions that the caller of the scope does not see."""
    limits = scope_limits()
    if limits is None or not limits.hidden:
        return set()
    ids = {each for each in needing if GUID.fullmatch(each)}
    with as_caller():
        seen = {row[0] for row in look_up(SEEN, [id_array(ids), id_array(ids)])}
    return ids - seen


def _kinds(*, also_shapes: bool) -> dict[str, _Kind]:
    return {what: each for what, each in KINDS.items() if also_shapes or what != DRAWN}


def _find_outside(
    elements: Sequence[str], versions: Sequence[str], total: int | None, *, also_shapes: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield kind, text and needed element, a few of each kind for each element, up to a `total` of each kind.

    LATERAL with a limit is one index look-up for each element and kind.
    """
    parts = [
        f"""(SELECT '{what}', o.found, n.id::text FROM unnest(%(elements)s::uuid[]) AS n (id) CROSS JOIN LATERAL (
            SELECT {each.found} AS found FROM {each.table}
            WHERE {each.needed} = n.id AND {each.needing} <> ALL(%({each.together})s::uuid[]) LIMIT {SHOWN + 1}) o
        LIMIT %(total)s)"""  # noqa: S608  constants
        for what, each in _kinds(also_shapes=also_shapes).items()
    ]
    sql = " UNION ALL ".join(parts)
    parameters = {"elements": list(elements), "versions": list(versions), "total": total}
    statements = (sql, PEOPLE_SQL) if engine().is_distributed else (f"{sql} UNION ALL {PEOPLE_SQL}",)
    return chain.from_iterable(fetch(each, parameters) for each in statements)


def _place(found: str) -> str:
    context, version = found.rsplit(" ", 1)
    return _("%(context)s of %(id)s") % {"context": context, "id": version}


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return _("%(names)s and others") % {"names": shown} if len(names) > SHOWN else shown
