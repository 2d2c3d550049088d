"""Reading a parsed JSON document, with a place for every mistake: `types.task.properties[3].related.facet: ...`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from facets.blueprint.texts import Texts, texts
from storage.localisation.cultures import locale_name

ABSENT: Any = object()
# Names stand in addresses, so nothing that ends or splits a path segment may be in them.
NAME = re.compile(r"(?!\.{1,2}$)(?!\s)[^\x00-\x1f\x7f/\\?#%]{1,100}(?<!\s)")
# Property keys also stand in `$select` lists and filter expressions.
KEY = re.compile(r"[^\W\d][\w.-]{0,99}")
COLOR = re.compile(r"#[0-9A-F]{6}")
CULTURE = re.compile(r"[1-9][0-9]{0,9}")
MAX_INTEGER = 2_147_483_647
MAX_LENGTH = 100
BAD_KEY = gettext_noop(
    "is not a valid key; use letters, digits, underscore, dot and hyphen, starting with a letter or underscore"
)
BAD_NAME = gettext_noop("is not a valid name; use up to 100 characters, none of / \\ ? # %, and no space at either end")
BAD_COLOR = gettext_noop("is not a colour; use # and six hexadecimal digits in capitals, such as #007ACC")
UNKNOWN_FACET = gettext_noop('unknown facet "%(name)s"')
UNKNOWN_TYPE = gettext_noop('unknown type "%(name)s"')
UNKNOWN_TYPE_OF_FACET = gettext_noop('this facet has no type "%(name)s"')
UNKNOWN_TYPE_OF_VIEW = gettext_noop('this view has no type "%(name)s"')
UNKNOWN_PROPERTY = gettext_noop('unknown property "%(name)s"')
UNKNOWN_PROPERTY_OF_TYPES = gettext_noop('none of its types has a property "%(name)s"')
UNKNOWN_PROPERTY_SET = gettext_noop('unknown property set "%(name)s"')
UNKNOWN_VIEW_SET = gettext_noop('unknown view set "%(name)s"')
UNKNOWN_LAYOUT = gettext_noop('unknown layout "%(name)s"')
UNKNOWN_CYCLE = gettext_noop('unknown release cycle "%(name)s"')
UNKNOWN_STATE = gettext_noop('unknown state "%(name)s"')
UNKNOWN_TRANSITION = gettext_noop('unknown transition "%(name)s"')


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
            self.problem(_("expected an object") if not self.is_absent else _("is missing"))
            return False
        for key in self.value:
            if key not in known:
                self.child(key).problem(_("unknown field; the fields are %(known)s") % {"known": ", ".join(known)})
        return True

    def entries(self) -> Iterator[tuple[str, Node]]:
        """The named parts of an object; none when it is absent."""
        if self.is_absent:
            return
        if not isinstance(self.value, dict):
            self.problem(_("expected an object"))
            return
        for key in self.value:
            yield key, self.child(key)

    def items(self) -> list[Node]:
        if self.is_absent:
            return []
        if not isinstance(self.value, list):
            self.problem(_("expected a list"))
            return []
        return [self.item(index) for index in range(len(self.value))]

    def text(self, default: str | None = None) -> str:
        """A name of some kind, so up to 100 characters."""
        if self.is_absent and default is not None:
            return default
        if not isinstance(self.value, str) or (not self.value and default is None):
            self.problem(_("is missing") if self.is_absent else _("expected a text"))
            return ""
        if len(self.value) > MAX_LENGTH:
            self.problem(_("is longer than %(limit)d characters") % {"limit": MAX_LENGTH})
        return self.value

    def flag(self, default: bool = False) -> bool:
        if self.is_absent:
            return default
        if not isinstance(self.value, bool):
            self.problem(_("expected true or false"))
            return default
        return self.value

    def number(self, default: int) -> int:
        if self.is_absent:
            return default
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not 1 <= self.value <= MAX_INTEGER:
            self.problem(_("expected a whole number from 1 to %(most)d") % {"most": MAX_INTEGER})
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
                item.problem(_("%(name)r occurs twice") % {"name": name})
            elif name:
                found[name] = item
        return found

    def texts(self, required: bool = False) -> Texts:
        """Texts by culture id."""
        if self.is_absent and not required:
            return ()
        if not isinstance(self.value, dict) or (required and not self.value):
            self.problem(_('expected texts by culture id, such as {"1031": "Prozess", "1033": "Process"}'))
            return ()
        good = {}
        for lcid, text in self.value.items():
            if not CULTURE.fullmatch(lcid) or locale_name(int(lcid)) is None:
                self.problem(
                    _("%(id)r is not a culture id; use for example 1031 (German) or 1033 (English)") % {"id": lcid[:20]}
                )
            elif not isinstance(text, str) or (required and not text.strip()):
                self.child(lcid).problem(_("expected a text") if not isinstance(text, str) else _("must not be blank"))
            else:
                good[lcid] = text
        return texts(good)

    def check(self, pattern: re.Pattern[str], value: str, meaning: str) -> None:
        """`meaning` is what to say, in English, after the value."""
        if not pattern.fullmatch(value):
            self.problem(f"{value!r} {_(meaning)}")

    def unknown(self, text: str, name: str) -> None:
        """`text` is one of those above."""
        self.problem(_(text) % {"name": name})

    def check_case(self, names: Iterable[str]) -> None:
        """Names of parts that are told apart by letter case only."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(name.casefold(), name)
            if other != name:
                self.child(name).problem(_('differs from "%(other)s" in letter case only') % {"other": other})
