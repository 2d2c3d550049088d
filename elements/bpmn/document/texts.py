"""Names and descriptions of BPMN elements in several cultures (D285). Pure.

A document has one name; the other cultures travel in an element of our own inside the extension elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from django.conf import settings
from lxml import etree

from elements.bpmn.document.index import EXTENSIONS
from elements.bpmn.document.model import Names
from elements.bpmn.document.tree_edits import add_ordered, child_of, remove
from elements.bpmn.document.vocabulary import bpmn, own
from elements.diagrams.text import xml_text
from elements.values.html import DECLARATION, XML_DECLARATION, html_problem, html_value
from repository_site.core.rest.rendering import to_json

MARKUP = "text/html"
NO_LANE = "none"
"""Value of our attribute for a node that has no lane although its process has a pool."""


def own_element(element: etree._Element) -> etree._Element | None:
    extensions = element.find(EXTENSIONS)
    return None if extensions is None else extensions.find(own("element"))


def document_culture(root: etree._Element, cultures: Mapping[str, object], requested: str) -> str:
    """Return the culture of the names in a document: the one that an export of this service states, if it is known."""
    stated = root.get(own("lcid"))
    return stated if stated is not None and stated in cultures else requested


def read_names(element: etree._Element, culture: str) -> dict[str, str]:
    name = element.get("name") or ""
    kept = own_element(element)
    others = {}
    if kept is not None:
        others = {each.get("lcid", ""): each.text or "" for each in kept.findall(own("name"))}
        others.pop(culture, None)
        if name and others.get(kept.get("fallback", "")) == name:
            name = ""
    return {lcid: text for lcid, text in {culture: name, **others}.items() if lcid and text.strip()}


def same_texts(document: Mapping[str, str], stored: Mapping[str, str]) -> bool:
    """Compare names of a document with stored ones, which may have lost their line breaks."""
    return document.keys() == stored.keys() and all(
        stored[lcid] in (text, " ".join(text.split())) for lcid, text in document.items()
    )


def read_description(element: etree._Element) -> str:
    """Return the documentation as markup in its stored form; nothing if an attribute cannot hold it."""
    documentation = element.find(bpmn("documentation"))
    text = "" if documentation is None else "".join(documentation.itertext()).strip()
    if documentation is None or not text:
        return ""
    markup = html_value(text)
    if documentation.get("textFormat") != MARKUP or html_problem(markup) is not None:
        markup = DECLARATION + "<br/>".join(escape(line.strip()) for line in text.splitlines())
    return "" if len(to_json(markup)) > settings.ATTRIBUTE_BYTES else markup


def write_description(element: etree._Element, markup: str) -> None:
    """Write the documentation of an element, or remove it."""
    documentation = element.find(bpmn("documentation"))
    if not markup:
        if documentation is not None:
            remove(documentation)
        return
    if documentation is None:
        documentation = add_ordered(element, "documentation")
    for child in list(documentation):
        documentation.remove(child)
    found = XML_DECLARATION.match(markup)
    documentation.set("textFormat", MARKUP)
    documentation.text = xml_text(markup[found.end() :] if found else markup)


@dataclass(frozen=True, slots=True)
class TextWriting:
    """Writes names in `culture` into a document. A missing name falls back to the first of `cultures` that has one."""

    culture: str
    cultures: Sequence[str]
    is_translated: bool
    """Whether the document has its names in another culture."""

    def differ(self, document: Names | None, stored: Names) -> bool:
        """Return whether the names of an element have to be written; a new element has none in the document."""
        return document is None or self.is_translated or not same_texts(document, stored)

    def name(self, element: etree._Element, names: Names, marks: Mapping[str, str | None] | None = None) -> None:
        """Write names, and the marks that a reader needs."""
        others = {lcid: text for lcid, text in names.items() if lcid != self.culture}
        fallback = None
        if self.culture not in names and others:
            fallback = next((each for each in self.cultures if each in others), min(others))
        text = others[fallback] if fallback else names.get(self.culture, "")
        if text:
            element.set("name", xml_text(text))
        else:
            element.attrib.pop("name", None)
        given = {"fallback": fallback, **(marks or {})}
        _keep(element, others, {name: value for name, value in given.items() if value})


def _keep(element: etree._Element, others: Names, marks: Mapping[str, str]) -> None:
    """Write what BPMN has no place for into an element of our own, or remove an empty one."""
    kept = own_element(element)
    if kept is None and not (others or marks):
        return
    if kept is None:
        kept = child_of(child_of(element, "extensionElements"), "element", own)
    for each in kept.findall(own("name")):
        kept.remove(each)
    for name in ("fallback", "type", "lane"):
        kept.attrib.pop(name, None)
    for name, value in marks.items():
        kept.set(name, value)
    for lcid, text in sorted(others.items()):
        etree.SubElement(kept, own("name"), lcid=lcid).text = xml_text(text)
    if not len(kept) and not kept.attrib:
        remove(kept)
        extensions = element.find(EXTENSIONS)
        if extensions is not None and not len(extensions):
            remove(extensions)
