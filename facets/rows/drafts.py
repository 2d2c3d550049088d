"""A draft of all rows of a configuration, changed in memory and checked before anything is written.

A preview therefore needs no locks and no rollback, the stored rows stay available for comparison, and the rules report
a problem before a database constraint would.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from facets import models
from facets.models.base import ConfigurationModel
from facets.rows.reading import Row, Rows
from facets.rows.writing import OWNERS, Model
from repository_site.core.problems import NotFound, placed

LAST = 2**31 - 1
# The column with the target of a link. Removing the target or the owner (OWNERS) removes the link.
TARGETS: dict[Model, str] = {
    models.AllowedParent: "parent_id",
    models.InsertableType: "inserted_id",
    models.RelatedType: "type_id",
    models.ViewType: "type_id",
    models.ViewProperty: "property_id",
    models.ViewLayout: "layout_id",
}
# The parts of a row, and the links to it; removing the row removes both.
PARTS: dict[Model, tuple[Model, ...]] = {
    models.Facet: (models.FacetView,),
    models.FacetView: (models.ViewType,),
    models.ViewType: (models.ViewProperty, models.ViewLayout),
    models.ElementType: (models.Property, models.AllowedParent, models.InsertableType),
    models.Property: (models.SelectableValue, models.RelatedType),
    # Transitions first: a state cannot be removed while a transition needs it.
    models.ReleaseCycle: (models.Transition, models.CycleState),
}
LINKS_TO: dict[Model, tuple[Model, ...]] = {
    models.ElementType: (models.AllowedParent, models.InsertableType, models.RelatedType, models.ViewType),
    models.Property: (models.ViewProperty,),
    models.Layout: (models.ViewLayout,),
}


def no_row(model: Model, row_id: str) -> str:
    words = {"kind": model._meta.verbose_name, "id": row_id}
    return _("There is no %(kind)s %(id)s in this storage.") % words


class Draft:
    """A copy of the tables to edit. It replaces rows and never changes them, because others may use them (D655).

    `problems` has impossible removals, such as removing a facet that has types.
    """

    def __init__(self, rows: Rows) -> None:
        self._tables: dict[Model, dict[str, Row]] = {
            model: {row.id: row for row in table} for model, table in rows.items()
        }
        self.problems: list[str] = []

    def table(self, model: Model) -> list[Row]:
        return list(self._tables[model].values())

    def by_id(self, model: Model) -> Mapping[str, Row]:
        return self._tables[model]

    def row(self, model: Model, row_id: UUID | str) -> Row:
        found = self._tables[model].get(str(row_id))
        if found is None:
            raise NotFound(no_row(model, str(row_id)))
        return found

    def owned(self, model: Model, owner_id: UUID | str) -> list[Row]:
        return sorted(_where(self.table(model), OWNERS[model], owner_id), key=place)

    def put(self, changed: ConfigurationModel) -> None:
        """Add or change a row. A new row comes last among the rows of its owner; others keep their position."""
        model = type(changed)
        names = [field.attname for field in model._meta.concrete_fields if field.name != "storage_id"]
        values = {name: getattr(changed, name) for name in names}
        row = Row(**{name: str(value) if isinstance(value, UUID) else value for name, value in values.items()})
        old = self._tables[model].get(row.id)
        row.position = old.position if old else LAST
        self._tables[model][row.id] = row

    def change(self, model: Model, row_id: UUID | str, **values: Any) -> None:
        row = self.row(model, row_id)
        self._tables[model][row.id] = Row(**{**vars(row), **values})

    def arrange(self, model: Model, row_ids: Sequence[UUID | str]) -> None:
        """Put these rows into this order, in the positions that they have now; other rows keep theirs."""
        rows = [self.row(model, each) for each in row_ids]
        for row, position in zip(rows, sorted(row.position for row in rows), strict=True):
            self.change(model, row.id, position=position)

    def link(self, model: Model, owner_id: UUID | str, target_ids: Sequence[UUID | str]) -> None:
        """Link the owner to exactly these targets in this order. Links that stay keep their rows and parts."""
        owner, target = OWNERS[model], TARGETS[model]
        there = {getattr(row, target): row for row in self.owned(model, owner_id)}
        wanted = [str(each) for each in target_ids]
        for target_id, row in there.items():
            if target_id not in wanted:
                self.remove(model, row.id)
        for position, target_id in enumerate(wanted):
            new = Row(id=str(uuid4()), **{owner: str(owner_id), target: target_id})
            row = there.get(target_id, new)
            self._tables[model][row.id] = Row(**{**vars(row), "position": position})

    def remove(self, model: Model, row_id: UUID | str) -> None:
        """Remove a row with its parts and all links to it; rows that need it become problems."""
        row = self.row(model, row_id)
        self.problems += _needing(self, model, row)
        del self._tables[model][row.id]
        for part in PARTS.get(model, ()):
            self._remove_where(part, OWNERS[part], row.id)
        for link in LINKS_TO.get(model, ()):
            self._remove_where(link, TARGETS[link], row.id)

    def _remove_where(self, model: Model, column: str, value: str) -> None:
        for row in _where(self.table(model), column, value):
            # A link may have been removed with its owner.
            if row.id in self._tables[model]:
                self.remove(model, row.id)

    def finish(self) -> Rows:
        """Return all rows in their order, with positions renumbered without gaps."""
        finished: Rows = {}
        for model, table in self._tables.items():
            counts: Counter[Any] = Counter()
            finished[model] = []
            for row in sorted(table.values(), key=place):
                owner = getattr(row, OWNERS.get(model, ""), None)
                number, counts[owner] = counts[owner], counts[owner] + 1
                finished[model].append(row if row.position == number else Row(**{**vars(row), "position": number}))
        return finished

    def fingerprint(self, model: Model, row_id: UUID | str) -> str:
        """Return a digest of a row and its parts, to detect changes by others."""
        found = [vars(self.row(model, row_id))]
        for part in PARTS.get(model, ()):
            found += [vars(row) for row in self.owned(part, row_id)]
        text = json.dumps(found, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def place(row: Row) -> tuple[int, str]:
    """Return the key that sorts rows of the configuration."""
    return (row.position, row.id if row.position != LAST else "")


def _where(table: Iterable[Row], column: str, value: UUID | str) -> list[Row]:
    return [row for row in table if getattr(row, column) == str(value)]


def _needing(draft: Draft, model: Model, row: Row) -> Iterator[str]:
    """Yield a problem for each row that needs this one, or would change its meaning without it."""
    types = {each.id: each.key for each in draft.table(models.ElementType)}
    if model is models.Facet:
        keys = [each.key for each in _where(draft.table(models.ElementType), "facet_id", row.id)]
        if keys:
            yield placed(
                f"facets.{row.name}",
                _("move or delete the types of this facet first: %(keys)s") % {"keys": ", ".join(keys)},
            )
        for each in _where(draft.table(models.Property), "target_facet_id", row.id):
            place = f"types.{types[each.type_id]}.properties.{each.key}"
            yield placed(place, _("refers to the facet %(name)s") % {"name": row.name})
    elif model is models.ReleaseCycle:
        keys = [each.key for each in _where(draft.table(models.ElementType), "release_cycle_id", row.id)]
        if keys:
            text = _("types use this release cycle: %(keys)s") % {"keys": ", ".join(keys)}
            yield placed(f"releaseCycles.{row.key}", text)
    elif model is models.CycleState:
        yield from _transitions_at(draft, row)
    elif model is models.ElementType:
        yield from _contexts_for(draft, row, types)


def _transitions_at(draft: Draft, state: Row) -> Iterator[str]:
    for each in draft.table(models.Transition):
        if state.id in (each.source_id, each.target_id):
            yield placed(f"states.{state.key}", _("the transition %(key)s needs this state") % {"key": each.key})


def _contexts_for(draft: Draft, type: Row, types: dict[str, str]) -> Iterator[str]:
    """Protect the last accepted type of a context: without any, the context would accept every type (D44)."""
    properties = {each.id: each for each in draft.table(models.Property)}
    accepted = Counter(each.property_id for each in draft.table(models.RelatedType))
    for each in _where(draft.table(models.RelatedType), "type_id", type.id):
        found = properties[each.property_id]
        if accepted[found.id] == 1 and found.type_id != type.id:
            place = f"types.{types[found.type_id]}.properties.{found.key}"
            text = _("accepts only the type %(key)s; without it, every type would be accepted")
            yield placed(place, text % {"key": type.key})
