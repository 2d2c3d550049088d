"""Obstacles to deleting elements (D19): children, references, and everything else that needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from repository_site.core.database.statements import engine, fetch
from repository_site.core.problems import placed
from storage.tenancy.scope import as_caller

REFERRED = "referred"
WHAT = {
    "children": gettext_noop("it has children"),
    REFERRED: gettext_noop("other elements refer to it"),
    "drawn": gettext_noop("it is drawn in the diagram"),
    "laned": gettext_noop("it has a lane in the diagram"),
    "created": gettext_noop("it has created elements"),
    "changed": gettext_noop("it has changed elements"),
    "released": gettext_noop("it has released elements"),
    "calls": gettext_noop("an active token acts for this user"),
    "enters": gettext_noop("a staff account belongs to this user"),
    "named": gettext_noop("a permission set names it"),
}
# Number of obstacles that a message names, and of those of each kind that are read for many elements.
SHOWN, MOST_FOUND = 5, 1_000
# One statement for all kinds, limited to a few of each. One lookup per column, so that each uses its index.
SQL = """
    (SELECT 'children', c.id::text, c.parent_id::text FROM elements_element c
      WHERE c.parent_id = ANY(%(elements)s::uuid[]) AND c.id <> ALL(%(elements)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'referred', r.context || ' ' || r.version_id::text, r.target_id::text
        FROM elements_reference r JOIN elements_elementversion v ON v.id = r.version_id
      WHERE r.target_id = ANY(%(elements)s::uuid[]) AND r.version_id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'drawn', s.version_id::text, s.element_id::text FROM elements_shape s
        JOIN elements_elementversion v ON v.id = s.version_id
      WHERE s.element_id = ANY(%(elements)s::uuid[]) AND s.version_id <> ALL(%(versions)s::uuid[]) AND %(shapes)s
      LIMIT %(limit)s)
    UNION ALL (SELECT 'laned', l.version_id::text, l.element_id::text FROM elements_lane l
        JOIN elements_elementversion v ON v.id = l.version_id
      WHERE l.element_id = ANY(%(elements)s::uuid[]) AND l.version_id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'created', v.id::text, v.created_by_id::text FROM elements_elementversion v
      WHERE v.created_by_id = ANY(%(elements)s::uuid[]) AND v.id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'changed', v.id::text, v.changed_by_id::text FROM elements_elementversion v
      WHERE v.changed_by_id = ANY(%(elements)s::uuid[]) AND v.id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'released', v.id::text, v.released_by_id::text FROM elements_elementversion v
      WHERE v.released_by_id = ANY(%(elements)s::uuid[]) AND v.id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'named', p.number::text, g.id FROM facets_permissionset p
      CROSS JOIN LATERAL jsonb_each(p.entries) AS x (permission, ids)
      CROSS JOIN LATERAL jsonb_array_elements_text(x.ids) AS g (id)
      WHERE g.id::uuid = ANY(%(elements)s::uuid[]) LIMIT %(limit)s)
"""
# A distributed database has these tables elsewhere.
PEOPLE_SQL = """
    (SELECT 'calls', t.name, (CASE WHEN t.id = ANY(%(elements)s::uuid[]) THEN t.id ELSE t.user_id END)::text
        FROM storage_apitoken t
      WHERE t.storage_id = current_setting('repository.storage')::uuid AND t.revoked_on IS NULL
        AND (t.id = ANY(%(elements)s::uuid[]) OR t.user_id = ANY(%(elements)s::uuid[])) LIMIT %(limit)s)
    UNION ALL (SELECT 'enters', a.username, m.user_id::text FROM storage_storagemembership m
      JOIN storage_staffaccount a ON a.id = m.account_id
      WHERE m.storage_id = current_setting('repository.storage')::uuid AND m.user_id = ANY(%(elements)s::uuid[])
      LIMIT %(limit)s)
"""


def find_obstacles(elements: Sequence[str], versions: Sequence[str], *, also_shapes: bool = True) -> list[str]:
    """Return a sentence for each kind of obstacle, ignoring these elements and versions themselves."""
    named: dict[str, list[str]] = {}
    with as_caller():
        seen = list(_find(elements, versions, SHOWN + 1, also_shapes=also_shapes))
    for what, found, _needed in seen:
        names, name = named.setdefault(what, []), _place(found) if what == REFERRED else found
        if name not in names:
            names.append(name)
    texts = [placed(_(WHAT[what]), _shown(names)) for what, names in named.items()]
    if not texts and _is_change() and any(_find(elements, versions, 1, also_shapes=also_shapes)):
        # The only way to keep what the caller does not see (D493).
        texts.append(_("elements that you cannot see need it"))
    return texts


def _is_change() -> bool:
    """Return whether a change reads content that is hidden from its caller."""
    database = engine()
    return database.narrowing is not None and database.hidden != database.narrowing.hidden


def find_needed(elements: Sequence[str], versions: Sequence[str]) -> set[str]:
    """Return some of the elements that something else needs, none if nothing needs any of them."""
    return {needed for _what, _found, needed in _find(elements, versions, MOST_FOUND)}


def _find(
    elements: Sequence[str], versions: Sequence[str], limit: int, *, also_shapes: bool = True
) -> Iterator[tuple[str, str, str]]:
    """Yield kind, place and needed element of each obstacle, up to a limit of each kind."""
    parameters = {"elements": list(elements), "versions": list(versions), "shapes": also_shapes, "limit": limit}
    statements = (SQL, PEOPLE_SQL) if engine().is_distributed else (f"{SQL} UNION ALL {PEOPLE_SQL}",)
    return chain.from_iterable(fetch(sql, parameters) for sql in statements)


def _place(found: str) -> str:
    context, version = found.rsplit(" ", 1)
    return _("%(context)s of %(id)s") % {"context": context, "id": version}


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return _("%(names)s and others") % {"names": shown} if len(names) > SHOWN else shown
