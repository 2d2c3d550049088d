"""Findings of single health checks, for the tests of `doctor`."""

from __future__ import annotations

from django.db import connection

from repository_site.operations.doctor import CHECKS, examine
from repository_site.operations.doctor.findings import HealthFinding, Level, Look


def found(name: str, look: Look | None = None) -> list[HealthFinding]:
    findings = list(examine(look or Look(), [check for check in CHECKS if check.name == name]))
    assert all(bool(each.advice) is (each.level is not Level.OK) for each in findings)
    return findings


def levels(name: str, look: Look | None = None) -> list[tuple[Level, str]]:
    return [(each.level, each.text) for each in found(name, look)]


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
