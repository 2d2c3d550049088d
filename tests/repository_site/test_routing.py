"""Every statement on a tenant table names the storage of the scope (D250)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection

from elements.models import Element
from repository_site.core.database.routing import with_storage
from repository_site.core.database.statements import engine
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.named_storages import StorageWatch

STORAGE = "S"
# Statement, parameters, and both with the storage.
STATEMENTS: list[tuple[str, Any, str, Any]] = [
    (
        "SELECT e.id FROM elements_element e JOIN elements_elementversion v ON v.id = e.newest_id OR v.id = %s"
        " LEFT JOIN other o ON o.id = e.id WHERE e.id = %s OR true ORDER BY 1",
        [1, 2],
        "SELECT e.id FROM elements_element e JOIN elements_elementversion v ON v.storage_id = %s::uuid AND ("
        " v.id = e.newest_id OR v.id = %s ) LEFT JOIN other o ON o.id = e.id WHERE e.storage_id = %s::uuid AND ("
        " e.id = %s OR true ) ORDER BY 1",
        [STORAGE, 1, STORAGE, 2],
    ),
    (
        'SELECT 1 FROM "elements_element" LEFT OUTER JOIN "elements_elementversion" T3 ON (1 = 1)'
        ' WHERE ("a" IS DISTINCT FROM "elements_element"."id") LIMIT 3',
        (),
        'SELECT 1 FROM "elements_element" LEFT OUTER JOIN "elements_elementversion" T3 ON T3.storage_id = %s::uuid AND ('
        ' (1 = 1) ) WHERE "elements_element".storage_id = %s::uuid AND ('
        ' ("a" IS DISTINCT FROM "elements_element"."id") ) LIMIT 3',
        [STORAGE, STORAGE],
    ),
    (
        "UPDATE elements_element AS e SET parent_id = n.parent FROM unnest(%s) AS n (id, parent) WHERE e.id = n.id"
        " RETURNING e.id",
        [1],
        "UPDATE elements_element AS e SET parent_id = n.parent FROM unnest(%s) AS n (id, parent)"
        " WHERE e.storage_id = %s::uuid AND ( e.id = n.id ) RETURNING e.id",
        [1, STORAGE],
    ),
    (
        "DELETE FROM elements_reference r USING unnest(%s) AS n (id) WHERE r.id = n.id OR r.id = 'FROM elements_shape'",
        [1],
        "DELETE FROM elements_reference r USING unnest(%s) AS n (id) WHERE r.storage_id = %s::uuid AND ("
        " r.id = n.id OR r.id = 'FROM elements_shape') ",
        [1, STORAGE],
    ),
    (
        "DELETE FROM elements_shape -- 7",
        None,
        "DELETE FROM elements_shape WHERE elements_shape.storage_id = 'S'::uuid  -- 7",
        None,
    ),
    (
        "DELETE FROM elements_shape WHERE a = '--' -- it's the end\n /* or */ ",
        None,
        "DELETE FROM elements_shape WHERE elements_shape.storage_id = 'S'::uuid AND ( a = '--')  -- it's the end\n"
        " /* or */ ",
        None,
    ),
    (
        r"SELECT E'it\'s FROM elements_shape s', $$ ' FROM elements_shape $$, $a$ $$ ' $a$ FROM elements_element",
        None,
        r"SELECT E'it\'s FROM elements_shape s', $$ ' FROM elements_shape $$, $a$ $$ ' $a$ FROM elements_element"
        " WHERE elements_element.storage_id = 'S'::uuid ",
        None,
    ),
    (
        "SELECT c.* FROM elements_elementchange c",
        None,
        "SELECT c.* FROM elements_elementchange c WHERE c.storage_id = 'S'::uuid ",
        None,
    ),
    (
        "SELECT id FROM elements_element FOR UPDATE",
        [],
        "SELECT id FROM elements_element  WHERE elements_element.storage_id = %s::uuid FOR UPDATE",
        [STORAGE],
    ),
    (
        "SELECT left(a, 3) FROM elements_element, elements_shape s UNION ALL SELECT '1' FROM elements_shape",
        [],
        "SELECT left(a, 3) FROM elements_element, elements_shape s  WHERE elements_element.storage_id = %s::uuid"
        " AND s.storage_id = %s::uuid UNION ALL SELECT '1' FROM elements_shape"
        " WHERE elements_shape.storage_id = %s::uuid ",
        [STORAGE] * 3,
    ),
    (
        "WITH RECURSIVE t AS (SELECT id FROM elements_element WHERE parent_id IS NULL UNION ALL SELECT e.id FROM t"
        " JOIN elements_element e ON e.parent_id = t.id) SELECT id FROM t",
        [],
        "WITH RECURSIVE t AS (SELECT id FROM elements_element WHERE elements_element.storage_id = %s::uuid AND ("
        " parent_id IS NULL ) UNION ALL SELECT e.id FROM t JOIN elements_element e ON e.storage_id = %s::uuid AND ("
        " e.parent_id = t.id) ) SELECT id FROM t",
        [STORAGE, STORAGE],
    ),
    (
        "SELECT count(*) FROM elements_element WHERE a LIKE 'a%%' AND b = %(b)s",
        {"b": 1},
        "SELECT count(*) FROM elements_element WHERE elements_element.storage_id = %(repository_storage)s::uuid AND ("
        " a LIKE 'a%%' AND b = %(b)s) ",
        {"b": 1, "repository_storage": STORAGE},
    ),
    (
        "INSERT INTO elements_shapeflow (id, position) SELECT n.id, (SELECT max(f.position) FROM elements_shapeflow f"
        " WHERE f.shape_id = %s) FROM unnest(%s) AS n (id) ON CONFLICT (storage_id, id) DO NOTHING",
        [1, 2],
        "INSERT INTO elements_shapeflow (storage_id, id, position) SELECT route.storage_id, given.* FROM"
        " storage_storagerevision route, (SELECT n.id, (SELECT max(f.position) FROM elements_shapeflow f"
        " WHERE f.storage_id = %s::uuid AND ( f.shape_id = %s) ) FROM unnest(%s) AS n (id) ) given"
        " WHERE route.storage_id = %s::uuid ON CONFLICT (storage_id, id) DO NOTHING",
        [STORAGE, 1, 2, STORAGE],
    ),
    ("INSERT INTO elements_shape (id) VALUES (%s)", [1], "INSERT INTO elements_shape (id) VALUES (%s)", [1]),
    ("SELECT 1 FROM storage_storage WHERE id = %s", [1], "SELECT 1 FROM storage_storage WHERE id = %s", [1]),
    ("ALTER TABLE elements_shape ADD x int", None, "ALTER TABLE elements_shape ADD x int", None),
]

SECOND_WITHOUT_STORAGE = (
    "SELECT e.id FROM elements_element e WHERE e.storage_id = %s AND EXISTS (SELECT FROM elements_element e)"
)


@pytest.mark.parametrize(("sql", "parameters", "expected", "values"), STATEMENTS)
def test_the_storage_is_added(sql: str, parameters: Any, expected: str, values: Any) -> None:
    assert with_storage(sql, parameters, STORAGE) == (expected, values)


@pytest.mark.parametrize("join", ["RIGHT JOIN", "FULL OUTER JOIN"])
def test_a_join_that_would_change_its_meaning_is_refused(join: str) -> None:
    kind = join.partition(" ")[0]
    with pytest.raises(ValueError, match=f"^{kind} JOIN after e: write a LEFT JOIN"):
        with_storage(f"SELECT o.id FROM elements_element e {join} other o ON o.id = e.id", [], STORAGE)
    sql = f"SELECT right(o.name, 3) FROM other o {join} another a ON a.id = o.id"
    assert with_storage(sql, [], STORAGE) == (sql, [])


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (
            "SELECT 1 FROM other o RIGHT JOIN elements_shape s ON s.id = o.id",
            "elements_shape: write a LEFT JOIN with ON",
        ),
        ("SELECT 1 FROM other o NATURAL JOIN elements_shape", "elements_shape: write a LEFT JOIN with ON"),
        ("SELECT 1 FROM other o JOIN elements_shape s USING (id)", "JOIN s USING: write ON"),
        ("SELECT 1 FROM (elements_shape s JOIN other o ON o.id = s.id)", "elements_shape: leave out the parentheses"),
        ('DELETE FROM public."elements_shape"', '"elements_shape": leave out the schema'),
        ("INSERT INTO elements_shape SELECT * FROM other", "elements_shape: write INSERT INTO table"),
        ("INSERT INTO elements_shape (id) (SELECT 1)", "elements_shape: write INSERT INTO table"),
        ("INSERT INTO elements_shape (id) WITH o AS (SELECT 1) SELECT 1 FROM o", "elements_shape: write INSERT INTO"),
    ],
)
def test_a_table_that_would_lack_its_storage_is_refused(sql: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        with_storage(sql, [], STORAGE)


def test_only_inside_a_scope(storage: Storage, django_assert_num_queries: Any) -> None:
    with tenant_scope(storage), django_assert_num_queries(1) as captured:
        assert not Element.objects.filter(position=99).exists()
    assert f"\"elements_element\".storage_id = '{storage.id}'::uuid AND (" in captured[0]["sql"]
    assert engine().tenant == ""


def test_a_nested_scope_names_its_own_storage(storage: Storage, other_storage: Storage) -> None:
    found = []
    with tenant_scope(storage):
        with tenant_scope(other_storage):
            found.append(engine().tenant)
        found.append(engine().tenant)
        with pytest.raises(ValueError, match="x"), tenant_scope(other_storage):
            raise ValueError("x")
        found.append(engine().tenant)
    assert found == [str(other_storage.id), str(storage.id), str(storage.id)]


@pytest.mark.one_node("Citus refuses to delete without a storage")
def test_the_check_of_all_statements_finds_a_missing_storage(storage: Storage, storage_watch: StorageWatch) -> None:
    with tenant_scope(storage), connection.cursor() as cursor:
        engine().tenant = ""
        cursor.execute("SELECT e.id FROM elements_element e")
        cursor.execute("DELETE FROM elements_shape")
        cursor.execute("SELECT e.id FROM elements_element e WHERE e.storage_id = %s", [storage.id])
        cursor.execute(SECOND_WITHOUT_STORAGE, [storage.id])
        cursor.execute("SELECT 1 FROM unnest(ARRAY[1]), elements_shape")
        engine().tenant = str(storage.id)
        cursor.execute("SELECT e.id FROM elements_element e JOIN elements_shape s ON s.element_id = e.id")
    assert storage_watch.take() == [
        "elements_element: SELECT e.id FROM elements_element e",
        "elements_shape: DELETE FROM elements_shape",
        f"elements_element: {SECOND_WITHOUT_STORAGE}",
        "elements_shape: SELECT 1 FROM unnest(ARRAY[1]), elements_shape",
    ]
