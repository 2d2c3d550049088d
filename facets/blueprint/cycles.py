"""Release cycles and validation rules as plain immutable values (D21, D22): part of a blueprint. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from facets.blueprint.texts import Texts


class Category(StrEnum):
    """What a state means: who sees a version in it, whether it can be changed, and which may exist side by side."""

    DRAFT = "draft"
    REVIEW = "review"
    PUBLISHED = "published"
    RETIRED = "retired"
    STATIC = "static"
    """Of elements without versions."""


OPEN = frozenset({Category.DRAFT, Category.REVIEW})
"""Of an element one version at most is in one of these."""
EVER_PUBLISHED = frozenset({Category.PUBLISHED, Category.RETIRED})


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class State:
    key: str
    category: Category
    display_names: Texts


@dataclass(frozen=True, slots=True)
class Transition:
    """With `task`, applying it only asks for it: a task of that type must be accepted first. With `ends_version` what
    is asked for is the end of the version: once its day has come it goes on to the first retired state."""

    key: str
    source: str
    target: str
    display_names: Texts
    task: str = ""
    ends_version: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseCycle:
    """The first state of each category is the one that is entered by itself: a new version begins in the first draft
    state, and what has had its time goes to the first retired one. With `takes_effect`, a version in the first
    published state goes on to that state once its validFrom has come."""

    key: str
    display_names: Texts
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    takes_effect: str = ""


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """The property must have a value (with `per_culture` one in each mandatory culture) when a version enters one of
    the states, or takes one of the transitions. Types without the property are not concerned."""

    key: str
    property: str
    severity: Severity
    messages: Texts
    states: tuple[str, ...] = ()
    transitions: tuple[str, ...] = ()
    per_culture: bool = False
