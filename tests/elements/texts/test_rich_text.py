"""Formatted text (D441): an Html value becomes blocks of an editor and the same value again, or tells why it cannot."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elements.values.html import DECLARATION, html_problem
from elements.values.markup_text import markup_text
from elements.values.rich_text import (
    HEADINGS,
    LISTS,
    MARKS,
    PREFORMATTED,
    QUOTE,
    KeptMarkup,
    TextBlock,
    TextRun,
    write_markup,
)
from elements.values.rich_text_exchange import editor_document, read_document
from elements.values.rich_text_reading import LONGEST, NotShown, read_markup

TABLE = "<table class='wide'>\n<tr><td colspan=\"2\">1 &gt; 0 <!-- ok --></td></tr>\n</table>"
CHARACTERS = "ab<>&\"'é\u00a0\u200b  \n語"


def again(markup: str) -> str:
    return write_markup(read_markup(markup))


@pytest.mark.parametrize(
    ("markup", "written"),
    [
        ("", ""),
        ("Research &amp; Development", "<p>Research &amp; Development</p>"),
        ("<p>One<br/>two</p>\n\n<p>three</p>", "<p>One<br/>two</p>\n<p>three</p>"),
        ("<p> spread \n over  lines </p>", "<p>spread over lines</p>"),
        ("<p>no\u00a0break</p>", "<p>no\u00a0break</p>"),
        ("<p><b>a</b><strong>b</strong> <i>c</i></p>", "<p><strong>ab</strong> <em>c</em></p>"),
        ("<p><em><b>a</b></em></p>", "<p><strong><em>a</em></strong></p>"),
        (
            "<p>see <a href='https://x.example/?a=1&amp;b=2'>this <b>page</b></a>.</p>",
            '<p>see <a href="https://x.example/?a=1&amp;b=2">this <strong>page</strong></a>.</p>',
        ),
        ("<h2>Title</h2><div>text</div>tail", "<h2>Title</h2>\n<p>text</p>\n<p>tail</p>"),
        (
            "<ul><li>a<ol><li>b</li></ol></li><li><p>c</p></li></ul>",
            "<ul>\n<li>a<ol>\n<li>b</li>\n</ol></li>\n<li>c</li>\n</ul>",
        ),
        (
            "<blockquote>a<p>b</p><ul><li/></ul></blockquote>",
            "<blockquote><p>a</p><p>b</p><ul>\n<li><br/></li>\n</ul></blockquote>",
        ),
        ("<pre>a\n  b &lt; c</pre>", "<pre>a\n  b &lt; c</pre>"),
        ("<p>a</p><p></p><p>b<br/></p><p><br/></p>", "<p>a</p>\n<p><br/></p>\n<p>b</p>"),
        (f"<p>a</p>{TABLE}b", f"<p>a</p>\n{TABLE}\n<p>b</p>"),
        (f"{DECLARATION}<p>a</p>", "<p>a</p>"),
    ],
)
def test_markup_that_the_editor_shows(markup: str, written: str) -> None:
    assert again(markup) == written
    assert again(written) == written
    assert html_problem(DECLARATION + written) is None


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        ("<p>a</p>\n<p><img src='x'/></p>", "the element img (line 2, column 4)"),
        ("<hr/>", "the element hr (line 1, column 1)"),
        ("<P>a</P>", "the element P (line 1, column 1)"),
        ("<p class='x'>a</p>", "the attribute class of the element p (line 1, column 1)"),
        ("<a href='x' title='y'>a</a>", "the attribute title of the element a (line 1, column 1)"),
        ("<ol start='3'><li>a</li></ol>", "the attribute start of the element ol (line 1, column 1)"),
        ("<p>a<!-- note --></p>", "a comment (line 1, column 5)"),
        ("<?pagebreak?>", "a processing instruction (line 1, column 1)"),
        ("<div><p>a</p></div>", "the element p at this place (line 1, column 6)"),
        ("<b><p>a</p></b>", "the element p at this place (line 1, column 4)"),
        ("<pre><code>a</code></pre>", "the element code at this place (line 1, column 6)"),
        ("<a href='x'>a<a href='y'>b</a></a>", "the element a at this place (line 1, column 14)"),
        ("<p><a>a</a></p>", "the element a at this place (line 1, column 4)"),
        ("<ul><li>a</li></ul><ul><li>b</li></ul>", "the element ul at this place (line 1, column 20)"),
        ("<ul><li>a</li><li><ul><li>b</li></ul></li></ul>", "the element ul at this place (line 1, column 19)"),
        ("<ul><ul><li>a</li></ul></ul>", "the element ul at this place (line 1, column 5)"),
        ("<li>a</li>", "the element li at this place (line 1, column 1)"),
        (f"<blockquote>{TABLE}</blockquote>", "the element table (line 1, column 13)"),
        ("<p>a</p><h2> </h2>", "the element h2 without content (line 1, column 14)"),
        ("<blockquote> </blockquote>", "the element blockquote without content (line 1, column 14)"),
        ("<table/>", "the element table without content (line 1, column 9)"),
        ("<ul>a</ul>", "a text between the items of a list (line 1, column 6)"),
        ("<ul><strong>a</strong></ul>", "a text between the items of a list (line 1, column 14)"),
        ("<ul><li>a</li><em>b</em></ul>", "a text between the items of a list (line 1, column 20)"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "several texts in an item of a list (line 1, column 17)"),
        ("<ul><li>a<ul><li>b</li></ul>c</li></ul>", "several texts in an item of a list (line 1, column 30)"),
        ("<p>a", "text that is not well-formed"),
        ("x" * (LONGEST + 1), "more than 200000 characters"),
    ],
)
def test_markup_that_the_editor_cannot_show(markup: str, reason: str) -> None:
    with pytest.raises(NotShown) as found:
        read_markup(markup)
    assert str(found.value) == reason


def test_lists_are_shown_to_a_bounded_depth() -> None:
    def nested(levels: int) -> str:
        return "<ul><li>a" * levels + "</li></ul>" * levels

    assert len(read_markup(nested(8))) == 8
    with pytest.raises(NotShown):
        read_markup(nested(9))


texts = st.text(CHARACTERS, min_size=1, max_size=8)
addresses = st.sampled_from(["", "", "https://x.example/?a=1&b=\"2'", "mailto:a@x.example"])
runs = st.builds(TextRun, texts, st.frozensets(st.sampled_from(MARKS), max_size=3), addresses)


@st.composite
def written_blocks(draw: st.DrawFn) -> TextBlock:
    around = draw(st.lists(st.sampled_from([*LISTS, QUOTE]), max_size=3))
    leaf = draw(st.sampled_from(["", "", "", *HEADINGS[:3], PREFORMATTED]))
    if not around and not leaf and draw(st.integers(0, 5)) == 0:
        return TextBlock((), (KeptMarkup(TABLE),))
    if leaf == PREFORMATTED:
        return TextBlock.of((*around, leaf), [TextRun(draw(texts))])
    return TextBlock.of((*around, leaf) if leaf else around, draw(st.lists(runs, max_size=4)))


def is_meaningful(blocks: list[TextBlock]) -> bool:
    """Nothing that writing leaves out: headings and last paragraphs without content."""
    return all(
        each.pieces or each.path[-1:] not in [(tag,) for tag in (*HEADINGS, PREFORMATTED)] for each in blocks
    ) and (not blocks or bool(blocks[-1].path) or bool(blocks[-1].text.strip("\n")))


@pytest.mark.long
@given(st.lists(written_blocks(), max_size=6).filter(is_meaningful))
def test_random_blocks_survive_being_written(blocks: list[TextBlock]) -> None:
    assert_written(blocks)


RUNS = [
    TextRun("a & <b>\nc"),
    *(TextRun(f" {mark} ", frozenset({mark})) for mark in MARKS),
    TextRun("all", frozenset(MARKS), "https://x.example/?a=1&b=\"2'"),
    TextRun(" z"),
]
BLOCKS = [
    TextBlock.of((*around, leaf) if leaf else around, [TextRun(" a  b\n")] if leaf == PREFORMATTED else RUNS)
    for around in ((), LISTS[:1], LISTS[::-1], (QUOTE,), (*LISTS, QUOTE))
    for leaf in ("", *HEADINGS[:3], PREFORMATTED)
] + [TextBlock((), (KeptMarkup(TABLE),)), TextBlock.of(LISTS, [TextRun("the last")])]


def test_blocks_survive_being_written() -> None:
    """Blocks of every kind, alone and after one another, with every kind of run."""
    assert all(map(is_meaningful, ([each] for each in BLOCKS)))
    for blocks in (BLOCKS, BLOCKS[::-1], *([each] for each in BLOCKS)):
        assert_written(blocks)
        assert read_document(editor_document(blocks)) == blocks


def assert_written(blocks: list[TextBlock]) -> None:
    markup = write_markup(blocks)
    assert html_problem(DECLARATION + markup) is None
    assert read_markup(markup) == blocks
    assert write_markup(read_markup(markup)) == markup


@pytest.mark.long
@given(st.lists(written_blocks(), max_size=6))
def test_blocks_survive_the_editor(blocks: list[TextBlock]) -> None:
    assert read_document(editor_document(blocks)) == blocks


TAGS = ("p", "div", "h2", "ul", "ol", "li", "blockquote", "strong", "i", "span", "table", "tr", "td", "pre", "img")
trees = st.recursive(
    st.sampled_from(["a", " b ", "\n", "&amp;", "<br/>", "c"]),
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", st.sampled_from(TAGS), st.lists(inner, max_size=4)
    ),
    max_leaves=12,
)


def counts(markup: str) -> dict[str, int]:
    """The number of elements whose count does not change when a value is written again."""
    return {tag: len(re.findall(rf"<{tag}[ >/]", markup)) for tag in ("h2", "ul", "ol", "li", "blockquote", "td")}


@pytest.mark.long
@given(st.lists(trees, max_size=5).map("".join))
@example("a\n<strong>a</strong>")
def test_nothing_is_lost_of_what_is_shown(markup: str) -> None:
    try:
        blocks = read_markup(markup)
    except NotShown:
        return
    written = write_markup(blocks)
    assert read_markup(written) == read_markup(write_markup(read_markup(written)))
    assert markup_text(written).split() == markup_text(markup).split()
    assert counts(written) == counts(markup)


def test_characters_that_xml_does_not_allow_are_removed() -> None:
    piece = {"type": "string", "string": "a\x0b\ud800b", "attributes": {"href": " https://x.example\x00 "}}
    [block] = read_document([{"text": [piece], "attributes": []}])
    assert block == TextBlock((), (TextRun("ab", address="https://x.example"),))


@pytest.mark.parametrize(
    "document",
    [
        None, 1, [1], [{}], [{"text": 1, "attributes": []}], [{"text": [], "attributes": ["video"]}], [{"text": [], "attributes": 1}],
        [{"text": [{}], "attributes": []}], [{"text": [{"type": "attachment", "attributes": {}}], "attributes": []}],
        [{"text": [{"type": "string", "string": 1, "attributes": {}}], "attributes": []}],
        [{"text": [{"type": "string", "string": "a", "attributes": {"href": 1}}], "attributes": []}],
    ],
)  # fmt: skip
def test_other_documents_are_refused(document: object) -> None:
    with pytest.raises(ValueError):
        read_document(document)


def test_pieces_that_are_kept_divide_their_block() -> None:
    block = TextBlock.of(("ul",), [TextRun("a "), KeptMarkup(TABLE), TextRun(" b")])
    assert write_markup([block]) == f"<ul>\n<li>a</li>\n</ul>\n{TABLE}\n<ul>\n<li>b</li>\n</ul>"
