"""The whole configuration, kept per revision (D655), for the forms and lists of the back office.

Labels, options and counts come from here, so no row of a form or list queries the database for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import get_language

from facets import models
from facets.admin.drafting.choice_fields import Option, RowChoices
from facets.blueprint.texts import texts
from facets.models.base import ConfigurationModel
from facets.rendering import display_names
from facets.rows.drafts import Draft, place
from facets.rows.reading import Row, StoredRows, read_rows
from facets.rows.writing import OWNERS
from repository_site.core.recent_values import RecentValues
from storage.localisation.cultures import CultureSet, preferred_culture
from storage.models import Storage
from storage.pages import storage_of

FormErrors = dict[str | None, list[tuple[str | None, str]]]
"""By the prefix of a form (None for the main form): the field (None for the form as a whole) and the message."""


class ConfigurationSnapshot:
    """The configuration that a form or list shows. With `errors`, a posted form is shown again instead of saved."""

    def __init__(self, storage: Storage, stored: StoredRows) -> None:
        self.storage = storage
        self.stored = stored
        self.rows = Draft(stored.rows)
        self.facets = self.rows.by_id(models.Facet)
        self.types = self.rows.by_id(models.ElementType)
        self.views = self.rows.by_id(models.FacetView)
        self.cycles = self.rows.by_id(models.ReleaseCycle)
        self.properties = self.rows.by_id(models.Property)
        self.errors: FormErrors | None = None
        self._choices: dict[Callable[[ConfigurationSnapshot], RowChoices], RowChoices] = {}

    @property
    def cultures(self) -> CultureSet:
        return self.stored.cultures

    @cached_property
    def culture(self) -> int:
        return preferred_culture(get_language() or "", self.cultures.data, self.cultures.default)

    def text(self, by_culture: Mapping[str, str], fallback: str = "") -> str:
        return display_names(texts(by_culture), self.cultures, fallback)[self.culture]

    def label(self, row: Row) -> str:
        key = name_of(row)
        name = self.text(row.display_names, key)
        return key if name.casefold() == key.casefold() else f"{key} – {name}"

    def owned(self, model: type[ConfigurationModel], owner_id: UUID | str) -> list[Row]:
        """Return the rows of a table that belong to a row, in their order."""
        return self.referring(model, OWNERS[model], owner_id)

    def referring(self, model: type[ConfigurationModel], column: str, row_id: UUID | str) -> list[Row]:
        """Return the rows of a table that refer to a row, in their order. Each table is grouped once, because
        lists call this for every row."""
        if (model, column) not in self._groups:
            groups: dict[str, list[Row]] = defaultdict(list)
            for row in sorted(self.rows.table(model), key=place):
                groups[getattr(row, column)].append(row)
            self._groups[model, column] = groups
        return self._groups[model, column].get(str(row_id), [])

    @cached_property
    def _groups(self) -> dict[tuple[type[ConfigurationModel], str], dict[str, list[Row]]]:
        return {}

    def choices(self, compute: Callable[[ConfigurationSnapshot], RowChoices]) -> RowChoices:
        """Return choices that all rows of a form share."""
        if compute not in self._choices:
            self._choices[compute] = compute(self)
        return self._choices[compute]

    def options(self, rows: Iterable[Row]) -> list[Option]:
        return [Option(row.id, self.label(row)) for row in rows]

    def options_by_facet(self, rows: Iterable[Row], prefix: str = "") -> list[Option]:
        """Group options by facet; the group is the id of the facet after `prefix`."""
        return [
            Option(row.id, self.label(row), f"{prefix}{row.facet_id}", self.facets[row.facet_id].name) for row in rows
        ]

    @cached_property
    def contexts(self) -> dict[str, str]:
        """Keys and labels of the references of versioned types."""
        versioned = {row.id for row in self.types.values() if row.is_versioned}
        own = (row for row in self.properties.values() if row.type_id in versioned and row.target_facet_id)
        return {row.key: self.label(row) for row in own}


def name_of(row: Any) -> str:
    return str(getattr(row, "name", None) or row.key)


# Requests share these rows. A draft replaces a row instead of changing it.
_recent: RecentValues[StoredRows] = RecentValues(2)


def snapshot_of(request: HttpRequest) -> ConfigurationSnapshot:
    found: Any = getattr(request, "configuration_snapshot", None)
    if found is None:
        storage = storage_of(request)
        found = ConfigurationSnapshot(storage, _stored(storage))
        request.configuration_snapshot = found  # type: ignore[attr-defined]  # read once per request
    return cast("ConfigurationSnapshot", found)


def _stored(storage: Storage) -> StoredRows:
    """Return the rows at the revision that the request began with, or read the current ones (D655)."""
    known = _recent.get(_key(storage, storage.configuration_revision))
    if known is not None:
        return known
    stored = read_rows()
    return _recent.keep(_key(storage, stored.revision), stored)


def _key(storage: Storage, revision: int) -> bytes:
    return f"{storage.pk} {revision}".encode()
