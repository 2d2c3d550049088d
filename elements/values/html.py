"""Html attributes (D16): well-formed markup after an XML declaration, without anything that a browser could run.

Pure. The markup is parsed as XML, which has one interpretation only, and refused if necessary, never changed.
Constructs that browsers read differently from XML (comments and processing instructions with brackets, CDATA) are
refused, too.
"""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
XML_DECLARATION = re.compile(r"\s*<\?xml\s[^<>]*\?>")
# Elements that run code, load other documents, change the target of addresses, or set attributes later.
REFUSED_ELEMENTS = frozenset(
    {"script", "iframe", "frame", "frameset", "object", "embed", "applet", "portal", "base", "link", "meta", "noscript"}
    | {"template", "xml", "foreignobject", "handler", "listener"}
    | {"set", "animate", "animatecolor", "animatemotion", "animatetransform", "discard"}
)
ADDRESS_ATTRIBUTES = frozenset(
    {"href", "src", "srcset", "action", "formaction", "data", "background", "poster", "cite", "longdesc", "usemap"}
    | {"lowsrc", "dynsrc", "codebase", "classid", "archive", "manifest", "ping", "profile", "icon", "content", "code"}
    | {"to", "from", "by", "values"}
)
REFUSED_ATTRIBUTES = frozenset({"srcdoc", "http-equiv", "attributename"})
# Browsers ignore white space and control characters in the scheme of an address; this ignores a few more.
IGNORED = re.compile(r"[\s\x00-\x20\x7f-\xa0\xad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]+")
CODE_SCHEME = re.compile(r"(?:javascript|vbscript|livescript|mocha|data):", re.IGNORECASE)
PICTURE = re.compile(r"data:image/(?:png|gif|jpeg|jpg|webp|bmp|avif|x-icon)[;,]", re.IGNORECASE)
CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
CSS_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
CSS_CODE = re.compile(
    r"expression\(|javascript:|vbscript:|livescript:|behaviou?r:|-moz-binding|@import|data:(?!image/)"
)
ROOT, ROOT_END = b"<root>", b"</root>"
_CODES = expat.errors.codes
_MISMATCH = _CODES[expat.errors.XML_ERROR_TAG_MISMATCH]
_INVALID = _CODES[expat.errors.XML_ERROR_INVALID_TOKEN]
_MALFORMED = {
    _INVALID: gettext_noop(
        "unexpected character; write &lt; for the character < and quotes around values of attributes"
    ),
    _CODES[expat.errors.XML_ERROR_UNCLOSED_TOKEN]: gettext_noop("this tag does not end with >"),
    _CODES[expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE]: gettext_noop("the element has two attributes of this name"),
    _CODES[expat.errors.XML_ERROR_UNDEFINED_ENTITY]: gettext_noop(
        "unknown entity; write the character itself or its number, such as &#160;"
    ),
    _CODES[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]: gettext_noop(
        "the end tag before this place has no start tag"
    ),
}


def html_value(text: str) -> str:
    """Return the stored form, which begins with an XML declaration."""
    return text if XML_DECLARATION.match(text) else DECLARATION + text


def html_problem(text: str) -> str | None:
    """Return the problem of the markup and its place, or None. Lines and columns count from 1, after the declaration.

    The enclosing element makes document types invalid, whose entities could expand without end.
    """
    declaration = XML_DECLARATION.match(text)
    if declaration is None:
        return _("must start with an XML declaration")
    markup = text[declaration.end() :]
    if "<" not in markup and "&" not in markup and "]]>" not in markup and markup.isprintable():
        return None
    checker = _MarkupChecker()
    try:
        content = enclosed(markup)
        checker.parser.Parse(content, True)
    except _UnsafeMarkup as problem:
        words = {"problem": problem, **place_in(content, problem.at)}
        return _("%(problem)s (line %(line)d, column %(column)d)") % words
    except expat.ExpatError as problem:
        at, text = checker.malformed(problem.code, content)
        return _malformed(content, at, text)
    except UnicodeEncodeError as problem:
        content = enclosed(markup[: problem.start])
        return _malformed(content, len(content) - len(ROOT_END), _("a character that XML does not allow"))
    return None


def runs_code(address: str) -> bool:
    return CODE_SCHEME.match(IGNORED.sub("", address)) is not None


def enclosed(markup: str) -> bytes:
    return ROOT + markup.encode() + ROOT_END


def place_in(content: bytes, at: int) -> dict[str, int]:
    """Return line and column of a byte of enclosed markup, counted in characters from 1."""
    before = content[len(ROOT) : at].decode(errors="ignore")
    return {"line": before.count("\n") + 1, "column": len(before) - before.rfind("\n")}


def _malformed(content: bytes, at: int, text: str) -> str:
    words = {"problem": text, **place_in(content, at)}
    return _("is not well-formed at line %(line)d, column %(column)d: %(problem)s") % words


class _UnsafeMarkup(Exception):
    """Well-formed markup that is not accepted; `at` is the byte where it begins."""

    at = 0


class _MarkupChecker:
    """Checks elements, attributes and styles while a parser reads."""

    def __init__(self) -> None:
        self.parser = parser = expat.ParserCreate()
        self._styles: list[str] = []
        # Names and bytes of the open elements. The enclosing element does not count.
        self._open: list[tuple[str, int]] = []
        self._deepest = settings.MARKUP_NESTING + 1
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartCdataSectionHandler = self._cdata

    def malformed(self, code: int, content: bytes) -> tuple[int, str]:
        """Return the byte of an error and its words. An element that is not closed is found where it begins."""
        at, end = self.parser.ErrorByteIndex, len(content) - len(ROOT_END)
        if code == _MISMATCH and len(self._open) > 1:
            name, start = self._open[-1]
            if at >= end:
                return start, _("the element %(name)s is not closed") % {"name": name[:40]}
            # The parser finds the error after the characters `</`.
            return at - 2, _("expected the end tag of the element %(name)s") % {"name": name[:40]}
        if code == _MISMATCH:
            return at - 2, _("this end tag has no start tag")
        if code == _INVALID and content[at - 1 : at] == b"&":
            return at - 1, _("write &amp; for the character &")
        text = _MALFORMED.get(code)
        return min(at, end), _(text) if text else expat.ErrorString(code)

    def _refuse(self, text: str) -> NoReturn:
        problem = _UnsafeMarkup(text)
        # The parser reads on after an exception, so its position is known only here.
        problem.at = self.parser.CurrentByteIndex
        raise problem

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parser = self.parser
        self._open.append((name, parser.CurrentByteIndex))
        if len(self._open) > self._deepest:
            text = _("must not nest elements deeper than %(most)d levels; remove some of the enclosing elements")
            self._refuse(text % {"most": self._deepest - 1})
        element = local_name(name)
        is_in_style = parser.CharacterDataHandler is not None
        if element in REFUSED_ELEMENTS or is_in_style:
            text = (
                _("must not contain the element %(name)s here")
                if is_in_style
                else _("must not contain the element %(name)s")
            )
            self._refuse(text % {"name": name[:40]})
        if element == "style":
            parser.CharacterDataHandler, parser.CommentHandler = self._styles.append, self._style_comment
        for attribute, value in attributes.items():
            if problem := _attribute_problem(element, attribute, value):
                self._refuse(problem)

    def _end(self, name: str) -> None:
        self._open.pop()
        if self.parser.CharacterDataHandler is not None:
            if problem := _style_problem("".join(self._styles)):
                self._refuse(problem)
            # Browsers read each style sheet on its own.
            self._styles.clear()
            self.parser.CharacterDataHandler, self.parser.CommentHandler = None, self._comment

    def _style_comment(self, text: str) -> None:
        """Browsers read this as part of the style sheet, which ends with the next end tag."""
        if "<" in text:
            self._comment(text)
        self._styles.append(text)

    def _comment(self, text: str) -> None:
        if "<" in text or ">" in text:
            self._refuse(_("must not contain a comment with markup in it; browsers may not treat it as a comment"))

    def _instruction(self, target: str, text: str) -> None:
        if "<" in text or ">" in text:
            self._refuse(_("must not contain a processing instruction with markup in it"))

    def _cdata(self) -> None:
        self._refuse(_("must not contain a CDATA section; write &lt; and &amp; instead"))


def local_name(name: str) -> str:
    """Return the name without prefix in lower case, because authors of markup choose the prefixes of HTML and SVG."""
    return name.rpartition(":")[2].lower()


def _attribute_problem(element: str, attribute: str, value: str) -> str | None:
    name = local_name(attribute)
    if attribute.startswith("xmlns:"):
        return None
    if name.startswith("on") or name in REFUSED_ATTRIBUTES:
        return _("must not contain the attribute %(name)s") % {"name": attribute[:40]}
    if name == "style":
        return _style_problem(value)
    if name in ADDRESS_ATTRIBUTES and runs_code(value) and not (element == "img" and PICTURE.match(value)):
        text = _("must not contain an address that runs code, in the attribute %(name)s")
        return text % {"name": attribute[:40]}
    return None


def _style_problem(text: str) -> str | None:
    plain = CSS_ESCAPE.sub(_unescaped, CSS_COMMENT.sub("", text))
    if CSS_CODE.search(IGNORED.sub("", plain).lower()):
        return _("must not contain a style that runs code or loads other styles")
    return None


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1], 16) if escape[1] else ord(escape[2])
    return chr(code) if code < 0x110000 else ""
