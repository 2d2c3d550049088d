"""Html attributes and addresses on reader pages and in the back office (D16): nothing passes that writing would refuse,
regardless of how it was stored.

An allow-list, applied by nh3. It removes styles, classes and ids, because the page decides about its appearance.
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
# Schemes of addresses that are attribute values.
LINKED_SCHEMES = frozenset({"http", "https", "mailto"})
FILE_SCHEMES = frozenset({"http", "https"})
# Headings of the markup go below the headings of the page.
FIRST_LEVEL, LAST_LEVEL = 3, 6
HEADING = re.compile(r"<(/?)h([1-6])\b")
PICTURE_WITHOUT_TEXT = re.compile(r"<img(?![^>]*\salt=)")


def _keep(tag: str, attribute: str, value: str) -> str | None:
    """Allow data addresses for pictures in the text, and for nothing else."""
    if value.lstrip().lower().startswith("data:") and not (tag == "img" and PICTURE.match(value)):
        return None
    return value


_cleaner = nh3.Cleaner(
    tags=TEXT | MARKED | LISTS | HEADINGS | TABLES | PICTURES | {"a"},
    clean_content_tags={"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"},
    attributes=ATTRIBUTES,
    attribute_filter=_keep,
    url_schemes=SCHEMES | {"data"},
    # The base of a relative address is unknown here.
    url_relative="deny",
    link_rel="noopener noreferrer",
    set_tag_attribute_values={"img": {"loading": "lazy"}},
)


def shown_markup(text: str, table_label: str) -> SafeString:
    """Return markup that is safe in a page. Wide tables scroll separately, also by keyboard, under the given label."""
    declaration = XML_DECLARATION.match(text)
    clean = _cleaner.clean(text[declaration.end() :] if declaration else text)
    clean = PICTURE_WITHOUT_TEXT.sub('<img alt=""', _lowered(clean))
    # The server of a picture learns that somebody looks at it, but not on which page.
    clean = clean.replace("<img", '<img referrerpolicy="no-referrer"')
    region = f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(table_label)}">'
    clean = clean.replace("<table", f"{region}<table").replace("</table>", "</table></div>")
    return mark_safe(clean)  # noqa: S308  cleaned above


def _lowered(clean: str) -> str:
    """Shift headings so that the outermost follows the page's own headings and no level is skipped."""
    levels = sorted({int(found[2]) for found in HEADING.finditer(clean)})
    lower = {level: min(FIRST_LEVEL + rank, LAST_LEVEL) for rank, level in enumerate(levels)}
    return HEADING.sub(lambda found: f"<{found[1]}h{lower[int(found[2])]}", clean)


def is_followed(address: str, schemes: frozenset[str]) -> bool:
    """Whether an address may be a link; `javascript:` and the like may not."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in schemes and bool(parts.netloc or parts.scheme.lower() == "mailto")
