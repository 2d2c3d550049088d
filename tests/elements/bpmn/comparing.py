"""Comparison of two BPMN documents, written without the code that it judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DI = "http://www.omg.org/spec/BPMN/20100524/DI"
OWN = "urn:content-repository:bpmn"
NODE = re.compile(r"\w*([tT]ask|Event|Gateway|[sS]ubProcess|transaction|[cC]horeography|callActivity)$")
GIVEN_ID = re.compile(r"_without_id_\d+$")
UNDECLARED = re.compile(r"Namespace prefix (\S+) .*is not defined")
ROOT = re.compile(rb"\A(?:\s|<\?.*?\?>|<!--.*?-->)*<[^\s/>]+", re.DOTALL)
UNKNOWN = "urn:undeclared:"
DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Loss:
    kind: str
    key: Key
    text: str


@dataclass(frozen=True, slots=True)
class TripComparison:
    counts: Counter[str]
    """Number of elements of the first document, by kind."""
    losses: tuple[Loss, ...]

    def lost(self, *kinds: str) -> set[Key]:
        return {each.key for each in self.losses if each.kind in kinds}


def compare(before: bytes, after: bytes) -> TripComparison:
    """Return what the first document has and the second one has not, or has differently."""
    old, new = keyed(parsed(before)), keyed(parsed(after))
    counts: Counter[str] = Counter()
    losses: list[Loss] = []
    for key, element in old.items():
        kind = kind_of(element)
        counts[kind] += 1
        if key not in new:
            losses.append(Loss(kind, key, "missing"))
        else:
            losses += [Loss(kind, key, text) for text in _differences(element, new[key])]
    return TripComparison(counts, tuple(losses))


def parsed(document: bytes) -> etree._Element:
    if document[1:2] == b"?" and b"UTF-16" in document[:60]:
        # Some tools declare UTF-16 and write UTF-8.
        document = DECLARATION.sub("", document.decode()).encode()
    # Namespaces can be anything, although libxml2 wants addresses.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(document, parser)
    missing = {found.group(1) for each in parser.error_log if (found := UNDECLARED.match(each.message))}
    if missing:
        spaces = "".join(f' xmlns:{each}="{MODEL if each == "bpmn" else UNKNOWN + each}"' for each in sorted(missing))
        return parsed(ROOT.sub(lambda tag: tag.group() + spaces.encode(), document, count=1))
    return root


def kind_of(element: etree._Element) -> str:
    name = etree.QName(element)
    if name.namespace == MODEL:
        if any(each.tag == f"{{{MODEL}}}extensionElements" for each in element.iterancestors()):
            return "extension"
        return "node" if NODE.fullmatch(name.localname) else name.localname
    return f"di {name.localname}" if "/DD/" in (name.namespace or "") or name.namespace == DI else "extension"


def keyed(root: etree._Element) -> dict[Key, etree._Element]:
    """Return the elements by their id, or by their place below an element with an id. Drawings go by what they show."""
    found: dict[Key, etree._Element] = {(): root}
    for key, element in _keys(root, ()):
        assert key not in found, key
        found[key] = element
    return found


def _keys(parent: etree._Element, above: Key) -> Iterator[tuple[Key, etree._Element]]:
    numbers: Counter[str] = Counter()
    for element in parent.iterchildren("*"):
        if etree.QName(element).namespace == OWN:
            continue
        own = element.get("id", "") if element.get("bpmnElement") is None else _local(element.get("bpmnElement", ""))
        # A plane goes by its number: some name nothing.
        own = "" if element.tag == f"{{{DI}}}BPMNPlane" else own
        step = f"{element.tag!s} {'' if GIVEN_ID.search(own) else own}"
        # An id belongs to the whole document, but two processes can repeat that of a part without a meaning.
        numbers[step] += 1
        key = (*above, step, numbers[step])
        yield key, element
        yield from _keys(element, key)


def _differences(old: etree._Element, new: etree._Element) -> Iterator[str]:
    for name, value in old.attrib.items():
        other = new.get(name)
        if other != str(value):
            is_renamed_drawing = name == "id" and kind_of(old).startswith("di ")
            if not is_renamed_drawing and not (other is not None and other == _local(str(value))):
                yield f"{name}: {value!r} became {other!r}"
    text, other = _text(old), _text(new)
    if text != other and other != _local(text):
        yield f"text: {text!r} became {other!r}"
    if kind_of(old) == "node" or etree.QName(old).localname == "sequenceFlow":
        return
    if (was := _comments(old)) != (now := _comments(new)):
        yield f"comments: {was} became {now}"


def _text(element: etree._Element) -> str:
    """Return the text of an element; white space between other elements says nothing."""
    pieces = [element.text or "", *(each.tail or "" for each in element)]
    text = "".join(pieces)
    return text.strip() if text.strip() else ""


def _local(name: str) -> str:
    return name.strip().rpartition(":")[2]


def _comments(element: etree._Element) -> int:
    return sum(not isinstance(each.tag, str) for each in element)
