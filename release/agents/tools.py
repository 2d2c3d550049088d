"""The tools of agents: which API operation each stands for, and which of them a caller can use (D585)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.functional import cached_property

from elements.permissions import Permission, sees_drafts
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import VersionRow
from elements.writing.writers import Writer, can_change
from facets.configuration import Configuration
from release.agents.arguments import Schema, object_schema
from release.agents.texts import AgentLabels
from repository_site.core.problems import Forbidden
from repository_site.core.rest.operation import Operation
from storage.access.callers import Caller
from storage.localisation.culture_names import language_names

CULTURE, OFFSET, PAGE_NUMBER, ID, AS_OF = "culture", "offset", "page", "id", "asOf"
# Numbers that no list and no text reaches.
MOST_PAGES, MOST_CHARACTERS = 100_000, 100_000_000
GUID: Schema = {"type": "string", "format": "uuid", "description": "Id of an element, or of one of its versions."}
AS_OF_SCHEMA: Schema = {
    "type": "string",
    "maxLength": 50,
    "description": "Time in the past, such as 2026-03-01T09:30:00, to read what was there then. The default is now.",
}
PAGE_SCHEMA: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_PAGES,
    "description": "Page of the list; the first is 1.",
}
OFFSET_SCHEMA: Schema = {
    "type": "integer",
    "minimum": 0,
    "maximum": MOST_CHARACTERS,
    "description": "Number of characters to skip, to read the rest of a long text.",
}


def described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool: its arguments, and the caller's access to the storage."""

    arguments: Mapping[str, Any]
    caller: Caller
    reader: Reader
    find: Callable[[str], VersionRow]
    """Returns the version with an id that the caller can see."""
    writer: Callable[[Permission | None], Writer]
    """Returns the writer of a change, which may need a permission to change anything at all."""
    languages: str = ""

    @cached_property
    def labels(self) -> AgentLabels:
        return AgentLabels(self.reader, self.arguments.get(CULTURE) or self.configuration.cultures.default)

    @property
    def configuration(self) -> Configuration:
        return self.reader.configuration

    @property
    def page(self) -> int:
        return self.arguments.get(PAGE_NUMBER) or 1

    @property
    def row(self) -> VersionRow:
        return self.find(self.arguments[ID])

    def text(self, name: str) -> str:
        return self.arguments.get(name) or ""


# The text of a result, or a function that makes it without the database.
ToolText = str | Callable[[], str]


@dataclass(frozen=True, eq=False)
class Tool:
    name: str
    title: str
    description: str
    operation: str
    """The operation of the API whose permissions and limits the tool has."""
    run: Callable[[ToolCall], ToolText]
    properties: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    in_culture: bool = True
    by_facet: bool = True
    """Whether tokens that are limited to facets can use it."""
    writes: bool = False
    is_lasting: bool = False
    """Whether it changes what others see, or work with."""
    needs_drafts: bool = False
    """Whether it shows drafts, so that viewers cannot use it."""
    also: tuple[str, ...] = ()
    """Further operations that the caller must be able to use."""

    def schema(self, configuration: Configuration) -> Schema:
        """Return the schema of the arguments, with the cultures of the storage."""
        cultures = configuration.cultures
        names = ", ".join(f"{lcid} {name}" for lcid, name in language_names(cultures.data).items())
        text = f"Language of names and texts: {names}. The default is {cultures.default}."
        culture: Schema = {"type": "integer", "enum": [*cultures.data], "description": text}
        return object_schema({**self.properties, **({CULTURE: culture} if self.in_culture else {})}, *self.required)

    def require(self, caller: Caller, message: Operation) -> None:
        """Refuse callers who could not use the operation either, and changes that a token does not name.

        `message` is the operation that all messages have.
        """
        scope = caller.scope
        if self.writes and (scope.operations is None or self.operation not in scope.operations):
            raise Forbidden(
                f"Agents only read with this token. To let an agent use the tool {self.name}, an administrator issues a"
                f" token whose operations include {message.id} and {self.operation}."
            )
        for id in (self.operation, *self.also):
            own = replace(message, id=id, writes=self.writes, by_facet=self.by_facet)
            scope.require(own, is_in_facet=False)
        if self.needs_drafts and not sees_drafts(caller):
            raise Forbidden(f"The tool {self.name} requires the role Analyzer or a higher one.")
        if self.writes and not self.needs_drafts and not can_change(caller):
            raise Forbidden(f"The tool {self.name} requires the role Editor or a higher one.")

    def is_for(self, caller: Caller, message: Operation) -> bool:
        try:
            self.require(caller, message)
        except Forbidden:
            return False
        return True
