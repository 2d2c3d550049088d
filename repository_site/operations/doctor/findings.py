"""The values of the health checks: checks, their options, and findings with advice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """`examine` adds the name of the check. `advice` is the next step; it is empty for the level ok."""

    check: str
    level: Level
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Options of the health checks."""

    names: bool = False
    """Whether the report names storages; reports are sent to others."""
    url: str = ""
    """Address of a server, to ask whether it is ready."""


@dataclass(frozen=True, slots=True)
class Check:
    """A health check. Its code is loaded when it runs, so that `doctor --help` need not wait for it (D176)."""

    name: str
    about: str
    place: str
    """Module of this folder and function, such as database.role."""
    needs_database: bool = True

    def look(self, look: Look) -> Iterator[HealthFinding]:
        module, function = self.place.split(".")
        found: Iterator[HealthFinding] = getattr(import_module(f"{__package__}.{module}"), function)(look)
        return found


def ok(text: str) -> HealthFinding:
    return HealthFinding("", Level.OK, text)


def warning(text: str, advice: str) -> HealthFinding:
    return HealthFinding("", Level.WARNING, text, advice)


def error(text: str, advice: str) -> HealthFinding:
    return HealthFinding("", Level.ERROR, text, advice)
