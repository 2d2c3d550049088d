"""Html attributes (D16): well-formed markup after an XML declaration, without anything that a browser could run.

Pure. The markup is parsed as XML, which has one interpretation only, and refused if necessary, never changed.
Constructs that browsers read differently from XML (comments and processing instructions with brackets, CDATA) are
refused, too.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from django.conf import settings
from django.utils.translation import gettext as _

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


def html_value(text: str) -> str:
    """Return the stored form, which begins with an XML declaration."""
    return text if XML_DECLARATION.match(text) else DECLARATION + text


def html_problem(text: str) -> str | None:
    """Return the problem of the markup, or None. The enclosing element makes document types invalid, whose entities
    could expand without end."""
    declaration = XML_DECLARATION.match(text)
    if declaration is None:
        return _("must start with an XML declaration")
    markup = text[declaration.end() :]
    if "<" not in markup and "&" not in markup and "]]>" not in markup and markup.isprintable():
        return None
    try:
        _parser().Parse(f"<root>{markup}</root>", True)
    except _UnsafeMarkup as problem:
        return str(problem)
    except (expat.ExpatError, ValueError) as problem:
        return _("is not well-formed: %(problem)s") % {"problem": problem}
    return None


def runs_code(address: str) -> bool:
    return CODE_SCHEME.match(IGNORED.sub("", address)) is not None


class _UnsafeMarkup(Exception):
    """Well-formed markup that is not accepted."""


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate()
    styles: list[str] = []
    # The enclosing element does not count.
    depth, deepest = -1, settings.MARKUP_NESTING

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > deepest:
            text = _("must not nest elements deeper than %(most)d levels; remove some of the enclosing elements")
            raise _UnsafeMarkup(text % {"most": deepest})
        element = local_name(name)
        if element in REFUSED_ELEMENTS or parser.CharacterDataHandler is not None:
            is_in_style = parser.CharacterDataHandler is not None
            text = (
                _("must not contain the element %(name)s here")
                if is_in_style
                else _("must not contain the element %(name)s")
            )
            raise _UnsafeMarkup(text % {"name": name[:40]})
        if element == "style":
            parser.CharacterDataHandler, parser.CommentHandler = styles.append, style_comment
        for attribute, value in attributes.items():
            _check_attribute(element, attribute, value)

    def style_comment(text: str) -> None:
        """Browsers read this as part of the style sheet, which ends with the next end tag."""
        if "<" in text:
            _check_comment(text)
        styles.append(text)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if parser.CharacterDataHandler is not None:
            _check_style("".join(styles))
            # Browsers read each style sheet on its own.
            styles.clear()
            parser.CharacterDataHandler, parser.CommentHandler = None, _check_comment

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CommentHandler = _check_comment
    parser.ProcessingInstructionHandler = _check_instruction
    parser.StartCdataSectionHandler = _refuse_cdata
    return parser


def local_name(name: str) -> str:
    """Return the name without prefix in lower case, because authors of markup choose the prefixes of HTML and SVG."""
    return name.rpartition(":")[2].lower()


def _check_attribute(element: str, attribute: str, value: str) -> None:
    name = local_name(attribute)
    if attribute.startswith("xmlns:"):
        return
    if name.startswith("on") or name in REFUSED_ATTRIBUTES:
        raise _UnsafeMarkup(_("must not contain the attribute %(name)s") % {"name": attribute[:40]})
    if name == "style":
        _check_style(value)
    elif name in ADDRESS_ATTRIBUTES and runs_code(value) and not (element == "img" and PICTURE.match(value)):
        text = _("must not contain an address that runs code, in the attribute %(name)s")
        raise _UnsafeMarkup(text % {"name": attribute[:40]})


def _check_style(text: str) -> None:
    plain = CSS_ESCAPE.sub(_unescaped, CSS_COMMENT.sub("", text))
    if CSS_CODE.search(IGNORED.sub("", plain).lower()):
        raise _UnsafeMarkup(_("must not contain a style that runs code or loads other styles"))


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1], 16) if escape[1] else ord(escape[2])
    return chr(code) if code < 0x110000 else ""


def _check_comment(text: str) -> None:
    if "<" in text or ">" in text:
        raise _UnsafeMarkup(_("must not contain a comment with markup in it; browsers may not treat it as a comment"))


def _check_instruction(target: str, text: str) -> None:
    if "<" in text or ">" in text:
        raise _UnsafeMarkup(_("must not contain a processing instruction with markup in it"))


def _refuse_cdata() -> None:
    raise _UnsafeMarkup(_("must not contain a CDATA section; write &lt; and &amp; instead"))
