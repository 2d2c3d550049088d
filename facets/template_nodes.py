"""Reading a parsed JSON document, with a place for every mistake: `types.task.properties[3].related.facet: ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from facets.texts import Texts, texts
from storage.cultures import locale_name

ABSENT: Any = object()
# Names stand in addresses, so nothing that ends or splits a path segment may be in them.
NAME = re.compile(r"(?!\.{1,2}$)(?!\s)[^\x00-\x1f\x7f/\\?#%]{1,100}(?<!\s)")
# Property keys also stand in `$select` lists and filter expressions.
KEY = re.compile(r"[^\W\d][\w.-]{0,99}")
COLOR = re.compile(r"#[0-9A-F]{6}")
CULTURE = re.compile(r"[1-9][0-9]{0,9}")
MAX_INTEGER = 2_147_483_647
MAX_LENGTH = 100


class Node:
    """A value of the document and where it stands. Problems are collected, never raised: all are told at once."""

    def __init__(self, value: Any, place: str, problems: list[str]) -> None:
        self.value = value
        self.place = place
        self.problems = problems

    def problem(self, text: str) -> None:
        self.problems.append(f"{self.place}: {text}" if self.place else text)

    @property
    def is_absent(self) -> bool:
        return self.value is ABSENT

    def child(self, key: str) -> Node:
        value = self.value.get(key, ABSENT) if isinstance(self.value, dict) else ABSENT
        return Node(value, f"{self.place}.{key}" if self.place else key, self.problems)

    def at(self, *path: str) -> Node:
        return self.child(path[0]).at(*path[1:]) if path else self

    def item(self, index: int) -> Node:
        value = self.value[index] if isinstance(self.value, list) else ABSENT
        return Node(value, f"{self.place}[{index}]", self.problems)

    def fields(self, *known: str) -> bool:
        """Whether this is an object; fields that mean nothing are reported, since they are most likely misspelt."""
        if not isinstance(self.value, dict):
            self.problem("expected an object" if not self.is_absent else "is missing")
            return False
        for key in self.value:
            if key not in known:
                self.child(key).problem(f"unknown field; known are {', '.join(known)}")
        return True

    def entries(self) -> Iterator[tuple[str, Node]]:
        """The named parts of an object; none when it is absent."""
        if self.is_absent:
            return
        if not isinstance(self.value, dict):
            self.problem("expected an object")
            return
        for key in self.value:
            yield key, self.child(key)

    def items(self) -> list[Node]:
        if self.is_absent:
            return []
        if not isinstance(self.value, list):
            self.problem("expected a list")
            return []
        return [self.item(index) for index in range(len(self.value))]

    def text(self, default: str | None = None) -> str:
        """A name of some kind, so up to 100 characters."""
        if self.is_absent and default is not None:
            return default
        if not isinstance(self.value, str) or (not self.value and default is None):
            self.problem("is missing" if self.is_absent else "expected a text")
            return ""
        if len(self.value) > MAX_LENGTH:
            self.problem(f"is longer than {MAX_LENGTH} characters")
        return self.value

    def flag(self, default: bool = False) -> bool:
        if self.is_absent:
            return default
        if not isinstance(self.value, bool):
            self.problem("expected true or false")
            return default
        return self.value

    def number(self, default: int) -> int:
        if self.is_absent:
            return default
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not 1 <= self.value <= MAX_INTEGER:
            self.problem(f"expected a whole number from 1 to {MAX_INTEGER}")
            return default
        return self.value

    def names(self) -> tuple[str, ...]:
        """A list of texts, none of them twice."""
        return tuple(self.named_items())

    def named_items(self) -> dict[str, Node]:
        """The same, each with its place."""
        found: dict[str, Node] = {}
        for item in self.items():
            name = item.text()
            if name in found:
                item.problem(f"{name!r} stands twice")
            elif name:
                found[name] = item
        return found

    def texts(self, required: bool = False) -> Texts:
        """Texts by culture id."""
        if self.is_absent and not required:
            return ()
        if not isinstance(self.value, dict) or (required and not self.value):
            self.problem('expected texts by culture id, such as {"1031": "Prozess", "1033": "Process"}')
            return ()
        good = {}
        for lcid, text in self.value.items():
            if not CULTURE.fullmatch(lcid) or locale_name(int(lcid)) is None:
                self.problem(f"{lcid[:20]!r} is no culture id")
            elif not isinstance(text, str) or (required and not text.strip()):
                self.child(lcid).problem("expected a text" if not isinstance(text, str) else "must not be blank")
            else:
                good[lcid] = text
        return texts(good)

    def check(self, pattern: re.Pattern[str], value: str, meaning: str) -> None:
        if not pattern.fullmatch(value):
            self.problem(f"{value!r} {meaning}")
