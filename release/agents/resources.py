"""Resources of agents: elements and types, by addresses that only this server understands (D586)."""

from __future__ import annotations

from dataclasses import dataclass

from release.agents.element_texts import element_text
from release.agents.texts import AgentLabels, piece
from release.agents.tools import ToolCall
from release.agents.type_texts import type_text
from repository_site.core.problems import NotFound
from repository_site.core.wording import GUID, printable

ELEMENT_URI, TYPE_URI = "repository://elements/", "repository://types/"
TEXT_TYPE = "text/plain"


@dataclass(frozen=True, slots=True)
class KnownResource:
    uri: str
    name: str
    title: str
    text: str


def list_resources(labels: AgentLabels) -> list[KnownResource]:
    """Return the types. A storage has too many elements for a list; the template and the search lead to them."""
    return [
        KnownResource(f"{TYPE_URI}{each.key}", each.key, labels.type(each), f"Type of the facet {each.facet}.")
        for each in labels.configuration.types.values()
    ]


def read_resource(call: ToolCall, uri: str) -> str:
    """Return the beginning of the text of a resource; a tool returns the rest."""
    if uri.startswith(TYPE_URI):
        return piece(type_text(call.labels, uri.removeprefix(TYPE_URI)))
    id = uri.removeprefix(ELEMENT_URI)
    if not uri.startswith(ELEMENT_URI) or not GUID.fullmatch(id):
        raise NotFound(f"There is no resource {printable(uri, 100)}.")
    return piece(element_text(call.labels, call.find(id)))
