"""Commits that a node of a cluster refuses become the errors that PostgreSQL raises (D256)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, InternalError, OperationalError, connection
from psycopg.errors import InternalError_

from repository_site.core.database.commits import WARNINGS

pytestmark = pytest.mark.django_db
REFUSED = "could not commit transaction for shard 102008 on at least one active node"


def warn(code: str, text: str) -> None:
    connection.ensure_connection()
    notice: Any = SimpleNamespace(sqlstate=code, message_primary=text)
    connection.connection.__dict__[WARNINGS](notice)


def fail(text: str) -> None:
    with connection.wrap_database_errors:
        raise InternalError_(text)


def test_a_violated_constraint() -> None:
    warn("23503", 'insert on "a" violates foreign key constraint "b"')
    warn("01000", "failed to commit transaction on 127.0.0.1:5432")
    with pytest.raises(IntegrityError, match=r'^insert on "a" violates foreign key constraint "b"$'):
        fail(REFUSED)


def test_a_lost_node_is_an_unavailable_database() -> None:
    warn("23503", "of a commit before")
    with pytest.raises(IntegrityError):
        fail(REFUSED)
    warn("08006", "connection to the remote node failed")
    with pytest.raises(OperationalError, match=f"^{REFUSED}$"):
        fail(REFUSED)


def test_other_internal_errors_stay_as_they_are() -> None:
    warn("23503", "of a commit before")
    with pytest.raises(InternalError, match=r"^cache lookup failed$"):
        fail("cache lookup failed")
