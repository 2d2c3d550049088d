"""BPMN document as a tree of lxml, from bytes that anybody may have sent. Pure.

Expat reads the bytes first: it refuses document types, and with them every entity, before anything is expanded, bounds
depth and size, and knows line and column of every element, which lxml does not.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from lxml import etree

from elements.bpmn.document.vocabulary import MODEL, PREFIXES, bpmn
from repository_site.core.problems import Invalid, Unreadable
from repository_site.core.wording import printable

MAX_DEPTH = 200
# A tree takes about a kilobyte for each element, comment or other part, and half of that for each attribute.
MAX_PARTS = 90_000
MAX_ATTRIBUTES = 180_000
# Looking up the namespace of a reference takes time for each prefix.
MAX_PREFIXES = 200
XMLNS = "xmlns:"
DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
ROOT = re.compile(r"\A(?:\s|<\?.*?\?>|<!--.*?-->)*<[^\s/>]+", re.DOTALL)
# Namespaces only have to differ from each other; those of some tools are not addresses.
HARMLESS = frozenset({"WAR_NS_URI", "WAR_NS_URI_RELATIVE"})
# Not past the next tag: in a comment of many tags that would take quadratic time.
PROCESS_ID = re.compile(r"""<(?:[\w.-]+:)?process\s(?:[^<>]*?\s)?id\s*=\s*["']([^"'<>&]+)["']""")
CALLED_ID = re.compile(r"""\scalledElement\s*=\s*["']([^"'<>&]+)["']""")
# Codecs of Python that XML does not have; some of them take minutes for a large file.
NO_ENCODINGS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)


@dataclass(frozen=True)
class BpmnDocument:
    tree: etree._ElementTree
    positions: array[int] = field(default_factory=lambda: array("L"))
    """Line and column of each element in document order, one after the other; empty for a stored document."""

    @property
    def root(self) -> etree._Element:
        return self.tree.getroot()

    @cached_property
    def _order(self) -> dict[etree._Element, int]:
        return {element: number for number, element in enumerate(self.root.iter("*"))}

    def place(self, element: etree._Element) -> str:
        """Return the place of an element of the original document, for a message."""
        number = 2 * self._order[element]
        return at(self.positions[number], self.positions[number + 1])

    def text(self) -> str:
        return etree.tostring(self.tree, encoding="unicode")


def parse(data: bytes) -> BpmnDocument:
    """Read a document; raise a problem with its place if it is not BPMN."""
    if not data.strip():
        raise Unreadable(_("The file is empty. Send a BPMN 2.0 document."))
    plain = _as_utf8(data)
    gate = _Gate()
    gate.read(plain)
    if gate.missing:
        # Their tool has forgotten to declare the prefixes of extensions.
        missing = {each: PREFIXES.get(each, f"urn:undeclared:{each}") for each in sorted(gate.missing)}
        plain = declared(plain.decode(), missing).encode()
    document = BpmnDocument(_tree(plain), gate.positions)
    if document.root.tag != bpmn("definitions"):
        text = _("%(place)s: this is not a BPMN 2.0 document: expected definitions of %(namespace)s, found %(found)s.")
        found = printable(str(document.root.tag), 120)
        raise Invalid(text % {"place": at(*gate.positions[:2]), "namespace": MODEL, "found": found})
    return document


def parse_stored(text: str) -> BpmnDocument:
    """Read a document that `parse` has accepted before."""
    return BpmnDocument(_tree(text.encode()))


def process_ids(text: str) -> list[str]:
    """Return the ids of the processes of a stored document, without parsing it."""
    return PROCESS_ID.findall(text)


def called_ids(text: str) -> list[str]:
    """Return the names that the call activities of a document have for processes, without their prefixes."""
    return [each.rpartition(":")[2] for each in CALLED_ID.findall(text)]


def at(line: int, column: int) -> str:
    return _("line %(line)d, column %(column)d") % {"line": line, "column": column}


def declared(text: str, namespaces: Mapping[str, str]) -> str:
    """Return a document whose root also declares namespaces. lxml cannot add declarations without removing others."""
    added = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in namespaces.items())
    return ROOT.sub(lambda found: found.group() + added, text, count=1)


def _tree(data: bytes) -> etree._ElementTree:
    """Read a document that expat has read."""
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        strip_cdata=False,
        remove_pis=False,
        recover=True,
    )
    root = etree.fromstring(data, parser)
    for problem in parser.error_log:
        if problem.level >= etree.ErrorLevels.ERROR and problem.type_name not in HARMLESS:
            raise _not_xml(problem.line, problem.column, problem.message)
    return etree.ElementTree(root)


def _as_utf8(data: bytes) -> bytes:
    """Return the document as UTF-8. Tools often declare UTF-16 and write UTF-8, so the bytes decide about that."""
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    declared = DECLARED.match(data.lstrip())
    encoding = marked or (declared.group(1).decode() if declared else "utf-8")
    if not marked and encoding.casefold().replace("_", "-").startswith(("utf-16", "ucs-2", "utf-32")):
        encoding = "utf-8"
    try:
        if codecs.lookup(encoding).name.replace("_", "-") in NO_ENCODINGS:
            raise LookupError
        return data.decode(encoding).lstrip("\ufeff \t\r\n").encode()
    except LookupError:
        text = _("The encoding %(name)s is unknown. Save the file as UTF-8.")
        raise Unreadable(text % {"name": printable(encoding, 40)}) from None
    except UnicodeError as problem:
        line = data.count(b"\n", 0, getattr(problem, "start", 0)) + 1
        text = _("Line %(line)d: the text is not in the encoding %(name)s. Save the file as UTF-8.")
        raise Unreadable(text % {"line": line, "name": encoding}) from None


def _not_xml(line: int, column: int, problem: str) -> Unreadable:
    text = _("%(place)s: the file is not well-formed XML: %(problem)s. Export it again from the modelling tool.")
    return Unreadable(text % {"place": at(line, column), "problem": problem.rstrip(".")})


class _Gate:
    """Bounds of a document, checked while expat reads it."""

    def __init__(self) -> None:
        self.positions = array("L")
        self.depth = self.parts = self.attributes = 0
        self.missing: set[str] = set()
        """Prefixes that are used where nobody declares them."""
        self._prefixes: set[str] = set()
        self._declared: Counter[str] = Counter()
        """How often each prefix is declared here, by the elements around this place."""
        self._scopes: list[tuple[int, list[str]]] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._document_type
        self.parser.CommentHandler = self._part
        self.parser.ProcessingInstructionHandler = self._part
        self.parser.StartCdataSectionHandler = self._part

    def read(self, data: bytes) -> None:
        # All attributes of an element are in memory before they can be counted.
        if data.count(b"=") > 2 * MAX_ATTRIBUTES:
            raise self._too_large(_("attributes"), MAX_ATTRIBUTES)
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as problem:
            raise _not_xml(problem.lineno, problem.offset + 1, expat.ErrorString(problem.code)) from None

    @property
    def _here(self) -> str:
        return at(self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.positions.extend((self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            text = _("%(place)s: the elements are nested more than %(most)d deep. Divide the model.")
            raise Invalid(text % {"place": self._here, "most": MAX_DEPTH})
        self._part()
        self.attributes += len(attributes)
        if self.attributes > MAX_ATTRIBUTES:
            raise self._too_large(_("attributes"), MAX_ATTRIBUTES)
        self._note_prefixes(name, attributes)
        if len(self._prefixes) > MAX_PREFIXES:
            text = _("%(place)s: the file has more than %(most)d prefixes of namespaces. Remove extensions from it.")
            raise Invalid(text % {"place": self._here, "most": MAX_PREFIXES})

    def _part(self, *_content: str) -> None:
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise self._too_large(_("XML elements and comments"), MAX_PARTS)

    def _too_large(self, what: str, most: int) -> Invalid:
        text = _("%(place)s: the file has more than %(most)d %(what)s. Divide the model.")
        return Invalid(text % {"place": self._here, "most": most, "what": what})

    def _note_prefixes(self, name: str, attributes: dict[str, str]) -> None:
        """The parser of the tree reports only some of the prefixes that are not declared."""
        if new := [each.removeprefix(XMLNS) for each in attributes if each.startswith(XMLNS)]:
            self._scopes.append((self.depth, new))
            self._declared.update(new)
            self._prefixes.update(new)
        for each in (name, *attributes):
            prefix, colon, _rest = each.partition(":")
            if colon and prefix and not self._declared[prefix] and prefix not in ("xml", "xmlns"):
                self.missing.add(prefix)
                self._prefixes.add(prefix)

    def _end(self, _name: str) -> None:
        if self._scopes and self._scopes[-1][0] == self.depth:
            self._declared.subtract(self._scopes.pop()[1])
        self.depth -= 1

    def _document_type(self, *_parts: object) -> None:
        text = _("%(place)s: a document type (DOCTYPE) and entities are not allowed. Remove them from the file.")
        raise Unreadable(text % {"place": self._here})
