"""What the doctor says: a finding each, with what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """`advice` says what to do next, and is there unless all is well."""

    check: str
    level: Level
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """How the doctor was asked to look."""

    names: bool = False
    """Whether storages may be named; reports are sent to others."""
    url: str = ""
    """Of a server to be asked whether it is ready."""


@dataclass(frozen=True, slots=True)
class Check:
    """`look` yields what is wrong, or remarkable; a check that yields nothing worse than ok is well."""

    name: str
    about: str
    look: Callable[[Look], Iterator[Finding]]
    needs_database: bool = True


def ok(check: str, text: str) -> Finding:
    return Finding(check, Level.OK, text)


def warning(check: str, text: str, advice: str) -> Finding:
    return Finding(check, Level.WARNING, text, advice)


def error(check: str, text: str, advice: str) -> Finding:
    return Finding(check, Level.ERROR, text, advice)
