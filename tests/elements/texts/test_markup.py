"""Html attributes on pages: only allowed markup, judged by an independent cleaner, and written in one pass."""

from __future__ import annotations

import nh3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings as ChangedSettings

from elements.values.markup import ALLOWED, ATTRIBUTES, EVERYWHERE, shown_markup

OWN = {"img": {"referrerpolicy", "loading"}, "div": {"class", "role", "tabindex", "aria-label"}}
"""Attributes that we add."""
OTHERS = {"onclick", "style", "id", "class", "x:href"}
STRICT = nh3.Cleaner(
    tags=set(ALLOWED),
    attributes={tag: {*ATTRIBUTES.get(tag, EVERYWHERE), *OWN.get(tag, ())} for tag in ALLOWED},
    url_schemes={"http", "https", "mailto", "tel"},
    url_relative="deny",
    link_rel="noopener noreferrer",
)
LENIENT = nh3.Cleaner(
    tags={*ALLOWED, "x:p", "form"},
    clean_content_tags=set(),
    attributes={tag: {*ATTRIBUTES.get(tag, EVERYWHERE), *OWN.get(tag, ()), *OTHERS} for tag in ALLOWED},
    url_schemes={"http", "https", "mailto", "tel", "data", "javascript"},
    url_relative="pass_through",
    link_rel="noopener noreferrer",
)


def test_an_empty_element_does_not_enclose_what_follows() -> None:
    """Browsers would take `<b/>` for a start tag."""
    assert shown_markup("<b/>a<div/>b<br/>c", "") == "<b></b>a<div></div>b<br>c"


def test_an_element_without_an_end_has_no_end_tag() -> None:
    assert shown_markup("<br>a</br><img alt='x'>b</img>", "") == (
        '<br>a<img referrerpolicy="no-referrer" alt="x" loading="lazy">b'
    )


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("<script>a</script>b<svg><g><p>c</p></g></svg>d", "bd"),
        ("<h:script xmlns:h='http://www.w3.org/1999/xhtml'>a</h:script>b", "b"),
        ("<form><o:p xmlns:o='urn:x'>a</o:p><input/></form>", "a"),
        ("<P TITLE='a' Title='b' onclick='c' class='d' style='e' id='f'>g</P>", '<p title="b">g</p>'),
        ("<p title='&quot;&gt;&lt;b&gt;&amp;'>&lt;b&gt;&amp;</p>", '<p title="&quot;&gt;&lt;b&gt;&amp;">&lt;b&gt;&amp;</p>'),
        ("<a href='java&#9;script:x'>a</a>", '<a rel="noopener noreferrer">a</a>'),
        ("<a href='&#1;https://x.example'>a</a>", None),
        ("<a href='//x.example'>a</a>", '<a rel="noopener noreferrer">a</a>'),
        ("<a href=' HTTPS://x.example'>a</a>", '<a href=" HTTPS://x.example" rel="noopener noreferrer">a</a>'),
        ("<a href='data:image/png;base64,AA'>a</a>", '<a rel="noopener noreferrer">a</a>'),
        ("<img src='data:image/svg+xml,x'/>", '<img referrerpolicy="no-referrer" alt="" loading="lazy">'),
        ("<p><![CDATA[<b>]]><!-- a --><?b c?></p>", "<p>&lt;b&gt;</p>"),
        ("<p>a", None),
        ("</root><script/><root>", None),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><p>&b;</p>", None),
    ],
)  # fmt: skip
def test_only_allowed_markup_is_shown(stored: str, shown: str | None) -> None:
    """None: the text is not well-formed, so pages show it as plain text."""
    if shown is None:
        with pytest.raises(ValueError):
            shown_markup(stored, "")
    else:
        assert shown_markup(stored, "") == shown


def test_markup_from_before_the_limit_is_shown_flat(settings: ChangedSettings) -> None:
    settings.MARKUP_NESTING = 3
    assert shown_markup("<div><p><b>a<i>b<u>c</u></i></b></p></div><i>d</i>", "") == (
        "<div><p><b>abc</b></p></div><i>d</i>"
    )


def test_what_encloses_many_elements_is_not_repeated_for_each() -> None:
    """An HTML parser closes the paragraph before each `div`, and copies `b` with its title into each of them."""
    stored = f"<p><b title='{'x' * 1000}'>{'<div>y</div>' * 1000}</b></p>"
    assert len(shown_markup(stored, "")) == len(stored)


NAMES = st.sampled_from(
    ["p", "b", "a", "img", "table", "td", "li", "h2", "div", "script", "svg", "style", "math", "x:p"]
)
HOSTILE = [
    "javascript:x",
    " java\tscript:x",
    "data:text/html,x",
    '"><script>x</script>',
    "https://x.example",
    "/relative",
]
VALUES = st.sampled_from(HOSTILE) | st.text(alphabet="abc:/<>\"'&; \t\n=", max_size=20)
ATTRIBUTE_NAMES = st.sampled_from(["href", "src", "title", "onclick", "style", "class", "lang", "HREF", "x:href"])


def element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def written(name: str, values: dict[str, str], inside: list[str]) -> str:
        given = "".join(f' {key}="{_escaped(value)}"' for key, value in values.items())
        return f"<{name}{given}>{''.join(inside)}</{name}>"

    return st.builds(
        written, NAMES, st.dictionaries(ATTRIBUTE_NAMES, VALUES, max_size=3), st.lists(children, max_size=4)
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


@pytest.mark.long
@given(st.recursive(VALUES.map(_escaped), element, max_leaves=12))
def test_an_independent_cleaner_finds_nothing_to_remove(stored: str) -> None:
    """Both cleaners repair the structure as a browser would; only the strict one would remove anything else."""
    shown = shown_markup(stored, "Table")
    assert STRICT.clean(shown) == LENIENT.clean(shown)
