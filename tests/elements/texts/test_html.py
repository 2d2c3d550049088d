"""Html attributes (D16): markup that readers' browsers may get, and markup that is refused. Nothing is ever changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings as ChangedSettings

from elements.values.html import DECLARATION, html_problem, html_value, runs_code


@pytest.mark.parametrize(
    "markup",
    [
        "",
        "plain text, 5 > 3",
        "<p>Order <b>entry</b>, see <a href='https://repo.example/x?a=1&amp;b=2#c'>here</a></p>",
        "<p>one</p><p>two<br/></p><table><tr><td colspan='2'>x</td></tr></table>",
        "<a href='/relative'>a</a><a href='#top'>b</a><a href='mailto:a@b.example'>c</a><a href='//host/x'>d</a>",
        "<a href='documents/javascript:intro.html'>a</a>",
        "<p title='JavaScript: an introduction' alt='data: none'>words may say what they like: javascript:alert(1)</p>",
        "<img src='data:image/png;base64,iVBORw0KGgo=' alt='dot'/>",
        "<p style='color: red; background: url(https://repo.example/a.png)'>x</p>",
        "<style>p > b { color: red } <!-- a { margin: 0 } --></style><!-- a remark -->",
        "<o:p xmlns:o='urn:schemas-microsoft-com:office:office' xmlns:on='urn:x'>pasted</o:p>",
        # Browsers read each style sheet on its own: these two do not make up a behavior.
        "<style>beh</style><style>avior: none</style>",
        "<?pagebreak after?><p>x</p>",
        "<p>&lt;script&gt;alert(1)&lt;/script&gt; as text</p>",
    ],
)
def test_accepted_markup(markup: str) -> None:
    assert html_problem(DECLARATION + markup) is None


@pytest.mark.parametrize(
    ("markup", "problem"),
    [
        # code itself
        ("<script>alert(1)</script>", "the element script"),
        ("<p><ScRiPt src='//evil.example/x.js'/></p>", "the element ScRiPt"),
        ("<h:script xmlns:h='http://www.w3.org/1999/xhtml'>alert(1)</h:script>", "the element h:script"),
        ("<svg><script>alert(1)</script></svg>", "the element script"),
        ("<style><script/></style>", "the element script here"),
        # other documents, and markup that changes the meaning of this one
        ("<iframe src='https://evil.example'/>", "the element iframe"),
        ("<iframe srcdoc='&lt;script>alert(1)&lt;/script>'/>", "the element iframe"),
        ("<object data='x.swf'/>", "the element object"),
        ("<embed src='x.swf'/>", "the element embed"),
        ("<base href='https://evil.example/'/>", "the element base"),
        ("<meta http-equiv='refresh' content='0;url=javascript:alert(1)'/>", "the element meta"),
        ("<link rel='stylesheet' href='https://evil.example/x.css'/>", "the element link"),
        ("<svg><animate attributeName='href' values='javascript:alert(1)'/></svg>", "the element animate"),
        ("<svg><set attributeName='onmouseover' to='alert(1)'/></svg>", "the element set"),
        ("<svg><foreignObject/></svg>", "the element foreignObject"),
        ("<noscript><p title='&lt;/noscript>'/></noscript>", "the element noscript"),
        # event handlers
        ("<img src='x' onerror='alert(1)'/>", "the attribute onerror"),
        ("<body ONLOAD='alert(1)'/>", "the attribute ONLOAD"),
        ("<svg onload='alert(1)'/>", "the attribute onload"),
        ("<details open='' ontoggle='alert(1)'>x</details>", "the attribute ontoggle"),
        ("<p x:onclick='alert(1)' xmlns:x='urn:x'>x</p>", "the attribute x:onclick"),
        # addresses
        ("<a href='javascript:alert(1)'>x</a>", "an address that runs code, in the attribute href"),
        ("<a href=' &#13;JavaScript&#58;alert(1)'>x</a>", "an address that runs code"),
        ("<a href='java&#9;scr&#10;ipt:alert(1)'>x</a>", "an address that runs code"),
        ("<a href='\u200bjavascript\u00a0:alert(1)'>x</a>", "an address that runs code"),
        ("<a href='vbscript:msgbox(1)'>x</a>", "an address that runs code"),
        ("<a href='data:text/html;base64,PHNjcmlwdD4='>x</a>", "an address that runs code"),
        ("<a href='data:image/png;base64,iVBORw0KGgo='>x</a>", "an address that runs code"),
        ("<img src='data:image/svg+xml,&lt;svg/>'/>", "an address that runs code"),
        ("<svg><a xlink:href='javascript:alert(1)' xmlns:xlink='http://www.w3.org/1999/xlink'>x</a></svg>", "in the attribute xlink:href"),
        ("<form action='javascript:alert(1)'/>", "in the attribute action"),
        ("<button formaction='javascript:alert(1)'>x</button>", "in the attribute formaction"),
        ("<video poster='javascript:alert(1)'/>", "in the attribute poster"),
        ("<table background='javascript:alert(1)'/>", "in the attribute background"),
        # styles
        ("<p style='width: expression(alert(1))'>x</p>", "a style that runs code"),
        ("<p style='width: ex/* */pression(alert(1))'>x</p>", "a style that runs code"),
        (r"<p style='width: \65 xpression(alert(1))'>x</p>", "a style that runs code"),
        ("<p style='background: url( &quot;java script:alert(1)&quot;)'>x</p>", "a style that runs code"),
        ("<p style='-moz-binding: url(x.xml#y)'>x</p>", "a style that runs code"),
        ("<style>@import 'https://evil.example/x.css';</style>", "a style that runs code"),
        ("<style>b { beh<!-- -->avior: url(x.htc) }</style>", "a style that runs code"),
        # markup that XML and browsers read differently
        ("<!--><img src='x' onerror='alert(1)'>-->", "a comment with markup"),
        ("<style><!-- </style><img src='x' onerror='alert(1)'/> --></style>", "a comment with markup"),
        ("<style>a</style><!-- <b> -->", "a comment with markup"),
        ("<![CDATA[><img src='x' onerror='alert(1)'>]]>", "a CDATA section"),
        ("<?x ><img src='x' onerror='alert(1)'> ?>", "a processing instruction with markup"),
        # not markup at all
        ("<p>x", "is not well-formed"),
        ("</root><script/><root>", "is not well-formed"),
        ("<p onclick=alert(1)>x</p>", "is not well-formed"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><p>&b;</p>", "is not well-formed"),
        ("<p>&nbsp;</p>", "is not well-formed"),
        ("a & b", "is not well-formed"),
        ("a ]]> b", "is not well-formed"),
        ("a \x01 b", "is not well-formed"),
    ],
)  # fmt: skip
def test_refused_markup(markup: str, problem: str) -> None:
    assert problem in (html_problem(DECLARATION + markup) or "taken")


def test_markup_is_nested_to_the_limit_only(settings: ChangedSettings) -> None:
    settings.MARKUP_NESTING = 3
    deepest = "<div><p><b>x</b></p></div>" * 2
    assert html_problem(DECLARATION + deepest) is None
    assert html_problem(f"{DECLARATION}<div>{deepest}</div>") == (
        "must not nest elements deeper than 3 levels; remove some of the enclosing elements (line 1, column 14)"
    )


@pytest.mark.parametrize("text", ["<p>x</p>", "", "<?xml-stylesheet href='x'?><p/>", "x <?xml version='1.0'?>"])
def test_a_missing_declaration_is_added_or_required(text: str) -> None:
    assert html_problem(text) == "must start with an XML declaration"
    assert html_value(text) == DECLARATION + text


def test_a_declaration_stays_as_it_is() -> None:
    for text in (DECLARATION + "<p/>", '\n<?xml version="1.0"?>\n<p/>'):
        assert html_value(text) == text
        assert html_problem(text) is None


@pytest.mark.parametrize(
    ("address", "runs"),
    [("https://repo.example", False), ("javascripts/intro.html", False), ("", False), ("JAVASCRIPT:x", True), ("\tdata:,x", True)],
)  # fmt: skip
def test_addresses(address: str, runs: bool) -> None:
    assert runs_code(address) == runs


@pytest.mark.long
@pytest.mark.parametrize(
    ("markup", "problem"),
    [
        ("<p>x", "line 1, column 1: the element p is not closed"),
        ("<p>\n <b>x</p>", "line 2, column 6: expected the end tag of the element b"),
        ("x</p>", "line 1, column 2: this end tag has no start tag"),
        ("</root><p/>", "line 1, column 8: the end tag before this place has no start tag"),
        ("<p>\nResearch & Development</p>", "line 2, column 10: write &amp; for the character &"),
        (
            "é語 <p>&nbsp;</p>",
            "line 1, column 7: unknown entity; write the character itself or its number, such as &#160;",
        ),
        ("<p a='1' a='2'/>", "line 1, column 10: the element has two attributes of this name"),
        (
            "<p a=1/>",
            "line 1, column 6: unexpected character; write &lt; for the character < and quotes around values of attributes",
        ),
        ("<p/>\ud800", "line 1, column 5: a character that XML does not allow"),
    ],
)
def test_places_of_malformed_markup(markup: str, problem: str) -> None:
    assert html_problem(DECLARATION + markup) == f"is not well-formed at {problem}"


def test_places_of_refused_markup() -> None:
    """Lines and columns count after the declaration."""
    markup = "<p>a</p>\n<p>é <b onclick='x()'>b</b></p>"
    assert html_problem(DECLARATION + markup) == "must not contain the attribute onclick (line 2, column 6)"
    assert html_problem(f"{DECLARATION}\n<script/>") == "must not contain the element script (line 2, column 1)"
    assert html_problem(f"{DECLARATION}<style>\n@import 'x'</style>") == (
        "must not contain a style that runs code or loads other styles (line 2, column 12)"
    )


@given(st.text(alphabet="<>/!-?[]CDATA&;'\"= psonx:", max_size=60))
def test_any_text_is_accepted_or_refused(text: str) -> None:
    problem = html_problem(DECLARATION + text)
    assert problem is None or problem.startswith(("must not contain", "is not well-formed"))
