"""A database that sends nothing is given up by the driver, too (D309)."""

from __future__ import annotations

import time

import psycopg
import pytest
from django.db import OperationalError, connection

from repository_site.core.database.silence import LISTENER, listening

pytestmark = pytest.mark.django_db(transaction=True)


def impatient(seconds: float) -> None:
    if seconds > 0.25:
        raise psycopg.OperationalError("no answer")


def test_a_silent_server_is_given_up() -> None:
    connection.ensure_connection()
    driver = connection.connection
    with pytest.raises(OperationalError, match=r"^no answer$"), listening(driver, impatient):
        connection.cursor().execute("SELECT pg_sleep(2)")
    assert driver.closed
    connection.close()


@pytest.mark.long
def test_statements_that_answer_are_not_disturbed() -> None:
    connection.ensure_connection()
    driver = connection.connection
    heard: list[float] = []
    with listening(driver, heard.append), connection.cursor() as cursor:
        for _ in range(2):
            heard.clear()
            began = time.monotonic()
            cursor.execute("SELECT pg_sleep(0.3), 1")
            assert cursor.fetchall() == [("", 1)]
            # Each statement has its own time.
            assert max(heard, default=0) <= time.monotonic() - began
        with driver.pipeline():
            found = [driver.execute("SELECT %s, pg_sleep(0.05)", [number]) for number in range(2)]
        assert [each.fetchone()[0] for each in found] == [0, 1]
    assert driver.__dict__[LISTENER] is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.5)")


@pytest.mark.long
def test_the_listener_of_an_outer_block_is_called_again() -> None:
    connection.ensure_connection()
    driver = connection.connection
    with listening(driver, impatient):
        with listening(driver, lambda seconds: None), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.5)")
        with pytest.raises(OperationalError, match=r"^no answer$"), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(2)")
    connection.close()
