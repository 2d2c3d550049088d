"""Rows of new storages and tokens for tests, written by prepared statements (D601).

Most tests create two storages and a token. The service writes the rows of collection, storage, cultures and token by
Django's models, which takes several times as long as statements with the same effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cache
from typing import Any
from unittest.mock import patch

import orjson
from django.db import DEFAULT_DB_ALIAS, connection, transaction
from django.db.models import Model
from django.utils import timezone

from repository_site.core.database.statements import engine
from storage.access import tokens
from storage.localisation.cultures import CultureSet
from storage.models import ApiToken, Culture, Storage, StorageCollection, StorageRevision
from storage.provisioning import provision

find_or_make_collection, save = provision.find_or_make_collection, Storage.save
CULTURES = "storage_id, lcid, position, is_default, is_mandatory"


@contextmanager
def storages_written_quickly() -> Iterator[None]:
    """Write the rows of storages that are provisioned inside by prepared statements."""
    if engine().is_distributed:
        yield
        return
    with (
        patch.object(provision, "find_or_make_collection", _find_or_make_collection),
        patch.object(provision, "_write_cultures", _write_cultures),
        patch.object(Storage, "save", _save),
    ):
        yield


@contextmanager
def tokens_written_quickly() -> Iterator[None]:
    """Write the rows of tokens that are issued inside by prepared statements, as tokens that were just used: otherwise
    the first request of each test would note the first use."""
    if engine().is_distributed:
        yield
        return
    with patch.object(tokens, "_insert", _insert_token):
        yield


def _insert_token(token: ApiToken) -> None:
    token.last_used_on = token.created_on
    with transaction.atomic():
        engine().look_up(*_insert(token))
    _is_saved(token)


def _find_or_make_collection(key: str) -> StorageCollection:
    new = StorageCollection(key=key, title=key, created_on=timezone.now())
    table, names = StorageCollection._meta.db_table, _names(StorageCollection)
    select = f"SELECT {names} FROM {table} WHERE upper(key) = upper(%s)"
    _, rows = engine().look_up_all([_insert(new, "ON CONFLICT DO NOTHING"), (select, [key])])
    found = [StorageCollection.from_db(DEFAULT_DB_ALIAS, _attributes(StorageCollection), row) for row in rows]
    # Another one that differs in case is refused by the usual rules.
    return found[0] if found and found[0].key == key else find_or_make_collection(key)


def _save(storage: Storage, **options: Any) -> None:
    if options != {"force_insert": True}:
        save(storage, **options)
        return
    revision = f"INSERT INTO {StorageRevision._meta.db_table} (storage_id) VALUES (%s) ON CONFLICT DO NOTHING"
    engine().look_up_all([_insert(storage), (revision, [storage.id])])
    _is_saved(storage)


def _write_cultures(storage: Storage, cultures: CultureSet) -> None:
    rows = [
        {
            "storage_id": storage.id,
            "lcid": lcid,
            "position": position,
            "is_default": lcid == cultures.default,
            "is_mandatory": lcid in cultures.mandatory,
        }
        for position, lcid in enumerate(cultures.data)
    ]
    table = Culture._meta.db_table
    sql = f"INSERT INTO {table} ({CULTURES}) SELECT {CULTURES} FROM json_populate_recordset(NULL::{table}, %s)"
    engine().look_up(sql, [orjson.dumps(rows).decode()])


def _insert(row: Model, ending: str = "") -> tuple[str, list[Any]]:
    """Return the statement that inserts a row, with its values."""
    fields = row._meta.concrete_fields
    values = [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]
    places = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {row._meta.db_table} ({_names(type(row))}) VALUES ({places}) {ending}"
    return sql, [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


def _is_saved(row: Model) -> None:
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


@cache
def _names(model: type[Model]) -> str:
    return ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields)


def _attributes(model: type[Model]) -> list[str]:
    return [str(field.attname) for field in model._meta.concrete_fields]
