"""Storages that had versions before there were release cycles (D21): the migrations give them the standard cycle, by which
their versions get categories."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from elements.models import ElementVersion
from facets.blueprint.definitions import Blueprint
from facets.rows.reading import read_blueprint
from facets.template_format.reading import read_template
from facets.template_format.writing import write_template
from storage.models import Storage
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope
from tests.cycles import STANDARD_CYCLES, category
from tests.elements.handbook import TEMPLATE, write_lines
from tests.elements.transfer_files import line, version, write
from tests.factories import StorageFactory
from tests.scale import only_at_full_scale

pytestmark = pytest.mark.django_db
STATES = tuple(STANDARD_CYCLES["standard"]["states"])
BEFORE = [("facets", "0001_initial"), ("elements", "0004_version_numbers")]
CYCLE_TABLES = {f"facets_{each}" for each in ("releasecycle", "cyclestate", "transition", "validationrule")}


def migrate(targets: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(targets)


def go_back_and_forth() -> None:
    """To the tables of the time before release cycles, and on from there.

    All in the transaction of the test, which takes it back. A table cannot be altered while checks of its rows are due,
    so that they are made at once and not, as usually, at the end.
    """
    latest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    migrate(BEFORE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'")
        columns = {(table, column) for table, column in cursor.fetchall()}
    assert ("elements_elementversion", "state") in columns
    assert ("elements_elementversion", "category") not in columns
    assert CYCLE_TABLES.isdisjoint(table for table, _ in columns)
    migrate(latest)


def imported(storage: Storage, file: str) -> None:
    call_command("import_storage", storage.collection.key, storage.key, file, stderr=StringIO())


def blueprint_of(storage: Storage) -> Blueprint:
    with tenant_scope(storage):
        return read_blueprint()


def categories_of(storage: Storage) -> list[tuple[str, str, str]]:
    """By type and state."""
    with tenant_scope(storage):
        rows = ElementVersion.objects.values_list("element__type__key", "state", "category")
        return sorted(rows)


@pytest.mark.long
@only_at_full_scale
def test_storages_from_before_get_the_standard_cycle(other_storage: Storage, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    house = StorageFactory.create(key="house", template="standard")
    handbook = StorageFactory.create(key="handbook", template=str(own))
    lines = [version(number, number + 100, state, "1.0") for number, state in enumerate(STATES, 1)]
    lines += [version(9, 109, "expired", "1.0"), version(9, 110, "inEffect", "2.0"), version(9, 111, "inReview", "2.1")]
    imported(house, write(tmp_path / "house.ndjson", *lines, line(50), line(51, "user", "users")))
    imported(handbook, str(write_lines(tmp_path / "handbook.ndjson")))
    storages = (house, handbook, other_storage)
    before = [(blueprint_of(storage), categories_of(storage)) for storage in storages]
    revisions = [Storage.objects.get(pk=storage.pk).configuration_revision for storage in storages]

    go_back_and_forth()

    after = [(blueprint_of(storage), categories_of(storage)) for storage in storages]
    standard = read_template(load_template("standard").sections)
    # Of the rules those about properties that its versions can have.
    rules = tuple(each for each in standard.rules if each.property in ("name", "owner"))
    assert before[0][0] == standard
    assert after == [before[0], (replace(before[1][0], rules=rules), before[1][1]), before[2]]
    assert (after[1][0].cycles, after[2][0].cycles, after[2][0].rules) == (standard.cycles, (), ())
    process = [("subProcess", state, category(state)) for state in (*STATES, "expired", "inEffect", "inReview")]
    assert after[0][1] == sorted([*process, ("tag", "", "static"), ("user", "", "static")])
    for blueprint, _ in after:
        assert read_template(write_template("x", "X", load_template("standard").cultures, blueprint)) == blueprint
    now = [Storage.objects.get(pk=storage.pk).configuration_revision for storage in storages]
    assert [each > earlier for each, earlier in zip(now, revisions, strict=True)] == [True, True, False]
