"""Narrowed statements (D491): every table says what it concerns, and hidden elements are in no statement that reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from facets.permission_sets import PermissionSets, StoredSet
from repository_site.core.database.narrowing import only_reads
from repository_site.core.database.routing import is_limited, with_storage
from storage.tenancy.scope import tenant_models

ROOT = Path(__file__).parents[3]
STORAGE, HIDDEN = "00000000-0000-4000-8000-000000000001", "0101"
# Tables whose rows are about no element, or are read only together with a version.
FREE = {
    "elements_appearance", "elements_bulkrun", "elements_contentmark", "elements_inheritedset", "elements_savedlist",
    "elements_searchdocument", "elements_searchfile", "elements_searchposting", "elements_searchword",
    "elements_structuremark", "elements_tableimport",
    "elements_tablemapping", "elements_versionname", "storage_answeredrequest", "storage_eventlog",
    "storage_filetext", "storage_messagelog", "storage_outgoingmail", "storage_recipient", "storage_storedfile", "storage_webhook",
    "storage_webhookattempt",
}  # fmt: skip


def test_every_tenant_table_says_what_it_concerns() -> None:
    """A new table whose rows are about elements must name them, or permission sets would not hide its rows."""
    silent = {model._meta.db_table for model in tenant_models() if not model.concerns}
    # Past rows are read only in place of rows, under the condition of these (D565).
    own = {table for table in silent if not table.startswith(("facets_", "shelves_", "elements_past"))}
    assert own == FREE


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("SELECT 1 FROM elements_element FOR NO KEY UPDATE", True),
        ("SELECT 1 FROM elements_element FOR UPDATE", True),
        ("UPDATE elements_element SET position = 1", False),
        ("WITH gone AS (DELETE FROM elements_element RETURNING 1) SELECT 1 FROM gone", False),
        ("INSERT INTO elements_element (id) SELECT id FROM elements_element", False),
    ],
)
def test_only_reads_are_narrowed(sql: str, reads: bool) -> None:
    assert only_reads(sql.upper().replace("(", " ( ").split()) is reads
    narrowed, _ = with_storage(sql, [], STORAGE, HIDDEN)
    assert ("elements_inheritedset" in narrowed) is reads


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM elements_element WHERE id = %s", True),
        ("SELECT 1 FROM elements_contentmark c WHERE EXISTS (SELECT FROM elements_elementversion v)", True),
        ("SELECT (SELECT max(s.id) FROM elements_structuremark s) FROM elements_contentmark c", False),
        ("SELECT 1 FROM elements_reference identified_later WHERE version_id = %s", False),
        ("UPDATE elements_element SET position = 1", False),
    ],
)
def test_statements_that_limits_change(sql: str, expected: bool) -> None:
    assert is_limited(sql) is expected


@pytest.mark.parametrize(
    ("sql", "checks"),
    [
        ("SELECT 1 FROM elements_element e JOIN elements_elementversion v ON v.id = e.newest_id WHERE e.id = %s", 1),
        ("SELECT 1 FROM elements_element e JOIN elements_elementversion v ON v.id = e.published_id", 1),
        ("SELECT 1 FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id WHERE v.id = %s", 1),
        ("SELECT 1 FROM elements_element e LEFT JOIN elements_elementversion v ON v.id = e.newest_id", 2),
        ("SELECT 1 FROM elements_element e JOIN elements_elementversion v ON v.id = e.newest_id OR v.id = %s", 2),
        ("SELECT 1 FROM elements_element e JOIN elements_elementversion v ON v.id = e.parent_id", 2),
        (
            "SELECT 1 FROM elements_element e JOIN elements_elementversion v ON v.id = e.newest_id UNION"
            " SELECT 1 FROM elements_element e",
            2,
        ),
        (
            "SELECT 1 FROM elements_element e WHERE EXISTS (SELECT FROM elements_element c"
            " JOIN elements_elementversion v ON v.id = c.newest_id WHERE c.parent_id = e.id)",
            2,
        ),
        ("SELECT 1 FROM elements_reference r", 1),
        ("SELECT 1 FROM elements_reference identified_later", 0),
    ],
)
def test_an_element_beside_its_version_is_checked_once(sql: str, checks: int) -> None:
    for as_of in ("", "2026-01-01T00:00:00Z"):
        assert with_storage(sql, ["x"] * sql.count("%s"), STORAGE, HIDDEN, as_of)[1].count(HIDDEN) == 2 * checks


def test_only_the_assembly_identifies_targets_later() -> None:
    """It leaves out references to targets without an identity."""
    named = re.compile(r"is_identified_later=True|identified_later\b(?!:)")
    found = {
        str(path.relative_to(ROOT))
        for app in ("elements", "release", "storage", "facets", "repository_site")
        for path in (ROOT / app).rglob("*.py")
        if named.search(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "elements/reading/assembly/links.py", "elements/reading/rows.py", "repository_site/core/database/narrowing.py",
    }  # fmt: skip


def test_parameters_keep_their_places() -> None:
    sql = """SELECT %s, (SELECT v.id FROM elements_elementversion v WHERE v.id = %s) FROM elements_element e
        JOIN elements_reference r ON r.target_id = e.id AND r.context = %s LEFT JOIN elements_shapeflow f ON f.id = %s
        WHERE e.id = %s LIMIT %s"""
    given = ["a", "b", "c", "d", "e", "f"]
    narrowed, values = with_storage(sql, given, STORAGE, HIDDEN)
    assert [each for each in values if each not in (STORAGE, HIDDEN)] == given
    assert narrowed.count("%s") == len(values)
    # Each value follows the text that needs it.
    texts = narrowed.split("%s")
    for text, value in zip(texts[1:], values, strict=True):
        assert text.startswith("::uuid") is (value == STORAGE)
        assert text.startswith("::varbit") is (value == HIDDEN)
    # Both ends of a flow, and elements, versions and targets; two sets each.
    assert values.count(HIDDEN) == 2 * 5
    named, held = with_storage("SELECT 1 FROM elements_shape s WHERE s.id = %(id)s", {"id": "x"}, STORAGE, HIDDEN)
    assert held == {"id": "x", "repository_storage": STORAGE, "repository_hidden": HIDDEN}
    assert "%(repository_hidden)s::varbit" in named
    plain, nothing = with_storage("SELECT 1 FROM elements_shape", None, STORAGE, HIDDEN)
    assert (nothing, f"'{HIDDEN}'::varbit" in plain) == (None, True)


def test_removed_sets_hide_what_is_left_of_them() -> None:
    """Rows of deleted elements keep the numbers of sets that were removed."""
    shown, hidden = (StoredSet("", number, "x", None, "replace", {"show": [id]}) for number, id in ((2, "a"), (4, "b")))
    bits = PermissionSets([shown, hidden]).limits_of(frozenset({"a"})).hidden
    assert (bits[:5], set(bits[5:])) == ("01011", {"1"})


def test_statements_without_sets_are_as_before() -> None:
    sql = "SELECT 1 FROM elements_element e WHERE e.id = %s"
    assert with_storage(sql, ["x"], STORAGE) == (
        "SELECT 1 FROM elements_element e WHERE e.storage_id = %s::uuid AND ( e.id = %s) ",
        [STORAGE, "x"],
    )


def test_elements_get_their_sets_wherever_they_are_written() -> None:
    """Only these functions insert or move elements; they renew the sets that elements inherit (D492)."""
    writes = re.compile(
        r"INSERT INTO elements_element\b|SET parent_id|copy_rows\(Element,|\bElement\.objects\.(?:bulk_)?create"
    )
    found = {
        str(path.relative_to(ROOT))
        for app in ("elements", "release", "storage", "facets", "repository_site")
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts and writes.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"elements/writing/statements.py", "elements/transfer/importing.py"}
    assert "rebuild_inherited()" in (ROOT / "elements/transfer/importing.py").read_text(encoding="utf-8")
