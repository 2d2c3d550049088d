"""Html attributes and addresses on pages, for readers and in the back office (D16): what writing would refuse cannot
get through here either, whoever stored it.

An allow-list, by nh3. Styles, classes and ids are left out: how a page looks is the page's own business.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from elements.values.html import PICTURE, XML_DECLARATION

TEXT = {"p", "br", "hr", "div", "span", "blockquote", "pre", "code", "kbd", "samp", "var", "abbr", "address", "cite"}
MARKED = {"b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "mark", "q", "del", "ins", "dfn", "time", "wbr"}
LISTS = {"ul", "ol", "li", "dl", "dt", "dd"}
HEADINGS = {f"h{level}" for level in range(1, 7)}
TABLES = {"table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td"}
PICTURES = {"img", "figure", "figcaption"}
ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href", "hreflang"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "reversed", "type"},
    "li": {"value"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
}
SCHEMES = {"http", "https", "mailto", "tel"}
# Of addresses that are values by themselves.
LINKED_SCHEMES = frozenset({"http", "https", "mailto"})
FILE_SCHEMES = frozenset({"http", "https"})
# Headings of the page come first; those of the markup go below them.
FIRST_LEVEL, LAST_LEVEL = 3, 6
HEADING = re.compile(r"<(/?)h([1-6])\b")
PICTURE_WITHOUT_TEXT = re.compile(r"<img(?![^>]*\salt=)")


def _keep(tag: str, attribute: str, value: str) -> str | None:
    """Pictures that are part of the text may be data; nothing else may."""
    if value.lstrip().lower().startswith("data:") and not (tag == "img" and PICTURE.match(value)):
        return None
    return value


_cleaner = nh3.Cleaner(
    tags=TEXT | MARKED | LISTS | HEADINGS | TABLES | PICTURES | {"a"},
    clean_content_tags={"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"},
    attributes=ATTRIBUTES,
    attribute_filter=_keep,
    url_schemes=SCHEMES | {"data"},
    # Where a relative address would lead depends on who wrote it, which nobody knows here.
    url_relative="deny",
    link_rel="noopener noreferrer",
    set_tag_attribute_values={"img": {"loading": "lazy"}},
)


def shown_markup(text: str, table_label: str) -> SafeString:
    """Safe to stand in a page. Wide tables scroll on their own, by keyboard too, under the label given."""
    declaration = XML_DECLARATION.match(text)
    clean = _cleaner.clean(text[declaration.end() :] if declaration else text)
    clean = PICTURE_WITHOUT_TEXT.sub('<img alt=""', _lowered(clean))
    # Where a picture comes from learns that it is looked at, but not on which page.
    clean = clean.replace("<img", '<img referrerpolicy="no-referrer"')
    region = f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(table_label)}">'
    clean = clean.replace("<table", f"{region}<table").replace("</table>", "</table></div>")
    return mark_safe(clean)  # noqa: S308  cleaned above


def _lowered(clean: str) -> str:
    """Whatever levels the headings have, the outermost comes right below those of the page, and none is left out."""
    levels = sorted({int(found[2]) for found in HEADING.finditer(clean)})
    lower = {level: min(FIRST_LEVEL + rank, LAST_LEVEL) for rank, level in enumerate(levels)}
    return HEADING.sub(lambda found: f"<{found[1]}h{lower[int(found[2])]}", clean)


def is_followed(address: str, schemes: frozenset[str]) -> bool:
    """Whether an address may stand in a link: `javascript:` and the like may not."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in schemes and bool(parts.netloc or parts.scheme.lower() == "mailto")
