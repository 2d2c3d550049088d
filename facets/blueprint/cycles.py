"""Release cycles and validation rules as immutable values (D21, D22), the part of a blueprint about the lifecycle."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from facets.blueprint.texts import Texts


class Category(StrEnum):
    """Meaning of a state: who can see its versions, whether they can be changed, and how many an element can have."""

    DRAFT = "draft"
    REVIEW = "review"
    PUBLISHED = "published"
    RETIRED = "retired"
    STATIC = "static"
    """Category of elements without versions."""


OPEN = frozenset({Category.DRAFT, Category.REVIEW})
"""An element has at most one version in these categories."""
EVER_PUBLISHED = frozenset({Category.PUBLISHED, Category.RETIRED})


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class State:
    """A state of versions.

    With `task`, a version that enters the state waits for people: each assignee gets a task of that type. Accepting
    applies the transition `accept` as soon as there are enough approvals, and rejecting applies `reject`.
    """

    key: str
    category: Category
    display_names: Texts
    task: str = ""
    assignees: tuple[str, ...] = ()
    """Contexts of the element, the first of which names the assignees. Without any, every approver can decide."""
    approvals: int = 1
    """How many assignees must accept; 0 means all of them."""
    due_days: int = 0
    """Days after which the task is overdue; 0 means those of the storage."""
    accept: str = ""
    reject: str = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """A way from one state to another.

    With `task`, applying it creates a task of that type, and the state changes when the task is accepted. With
    `ends_version`, the task requests the end of the version, which enters the first retired state on the given day.
    """

    key: str
    source: str
    target: str
    display_names: Texts
    task: str = ""
    ends_version: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseCycle:
    """The states of versions and the transitions between them.

    Versions enter the first state of a category automatically: a new version starts in the first draft state, and an
    expired one ends in the first retired state. With `takes_effect`, a version in the first published state enters
    that state on its validFrom.
    """

    key: str
    display_names: Texts
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    takes_effect: str = ""


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """Requires a value of a property when a version enters one of the states or takes one of the transitions.

    With `per_culture`, each mandatory culture needs a value. The rule does not apply to types without the property.
    """

    key: str
    property: str
    severity: Severity
    messages: Texts
    states: tuple[str, ...] = ()
    transitions: tuple[str, ...] = ()
    per_culture: bool = False
