"""Properties with the same definition in several types, which one change can update together (D106).

Each type has its own rows. Templates can define a property once for many types, and people think of it that way:
renaming `name` is rarely meant for a single type.
"""

from __future__ import annotations

from typing import Any

from facets import models
from facets.admin.drafting.snapshot import ConfigurationSnapshot
from facets.rows.drafts import Draft
from facets.rows.reading import Row


def rows_alike(snapshot: ConfigurationSnapshot, row: Row) -> list[Row]:
    wanted = _definition(snapshot, row)
    same_key = snapshot.referring(models.Property, "key", row.key)
    found = [each for each in same_key if each.id != row.id and _definition(snapshot, each) == wanted]
    order = list(snapshot.types)
    return sorted(found, key=lambda each: order.index(each.type_id))


def _definition(snapshot: ConfigurationSnapshot, row: Row) -> tuple[Any, ...]:
    """Return what properties of several types can have in common."""
    accepted = [each.type_id for each in snapshot.owned(models.RelatedType, row.id)]
    values = [_columns(each, "property_id") for each in snapshot.owned(models.SelectableValue, row.id)]
    return _columns(row, "type_id"), accepted, values


def _columns(row: Row, owner: str) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name not in ("id", "position", owner)}


def types_alike(snapshot: ConfigurationSnapshot, row: Row) -> list[str]:
    return [snapshot.types[each.type_id].key for each in rows_alike(snapshot, row)]


def copy_definition(draft: Draft, snapshot: ConfigurationSnapshot, row: Row) -> None:
    """Copy the drafted definition to all properties that had the same definition before."""
    source = draft.row(models.Property, row.id)
    columns = _columns(source, "type_id")
    accepted = [each.type_id for each in draft.owned(models.RelatedType, row.id)]
    for other in rows_alike(snapshot, row):
        draft.change(models.Property, other.id, **columns)
        draft.link(models.RelatedType, other.id, accepted)
        _copy_values(draft, row.id, other.id)


def _copy_values(draft: Draft, source_id: str, target_id: str) -> None:
    """Replace the selectable values; no other row refers to them."""
    for value in draft.owned(models.SelectableValue, target_id):
        draft.remove(models.SelectableValue, value.id)
    for value in draft.owned(models.SelectableValue, source_id):
        draft.put(
            models.SelectableValue(
                property_id=target_id,
                key=value.key,
                display_names=value.display_names,
                descriptions=value.descriptions,
                tooltips=value.tooltips,
            )
        )
