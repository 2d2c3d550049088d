"""Reads a parsed JSON document and collects problems with places, `types.task.properties[3].related.facet: ...`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from facets.blueprint.texts import Texts, texts
from storage.localisation.cultures import locale_name

ABSENT: Any = object()
# Names occur in addresses, so they cannot contain characters that end or split a path segment.
NAME = re.compile(r"(?!\.{1,2}$)(?!\s)[^\x00-\x1f\x7f/\\?#%]{1,100}(?<!\s)")
# Property keys also occur in `$select` lists and filter expressions.
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
    """A value of the document with its place. Problems are collected instead of raised, to report all at once."""

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
        """Return whether this is an object, and report unknown fields, which are most likely misspelt."""
        if not isinstance(self.value, dict):
            self.problem(_("expected an object") if not self.is_absent else _("is missing"))
            return False
        for key in self.value:
            if key not in known:
                self.child(key).problem(_("unknown field; the fields are %(known)s") % {"known": ", ".join(known)})
        return True

    def entries(self) -> Iterator[tuple[str, Node]]:
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
        """Return a text of up to 100 characters, required unless a default is given."""
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

    def number(self, default: int, most: int = MAX_INTEGER) -> int:
        if self.is_absent:
            return default
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not 1 <= self.value <= most:
            self.problem(_("expected a whole number from 1 to %(most)d") % {"most": most})
            return default
        return self.value

    def names(self) -> tuple[str, ...]:
        return tuple(self.named_items())

    def named_items(self) -> dict[str, Node]:
        """Return a list of texts without repetitions, each with its node."""
        found: dict[str, Node] = {}
        for item in self.items():
            name = item.text()
            if name in found:
                item.problem(_("%(name)r occurs twice") % {"name": name})
            elif name:
                found[name] = item
        return found

    def texts(self, required: bool = False) -> Texts:
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
        """Check a value against a pattern; `meaning` is the translatable message that follows the value."""
        if not pattern.fullmatch(value):
            self.problem(f"{value!r} {_(meaning)}")

    def unknown(self, text: str, name: str) -> None:
        self.problem(_(text) % {"name": name})

    def check_case(self, names: Iterable[str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(name.casefold(), name)
            if other != name:
                self.child(name).problem(_('differs from "%(other)s" in letter case only') % {"other": other})
