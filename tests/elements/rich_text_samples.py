"""Texts for tests of formatted text: what word processors put into the clipboard, and values of all kinds.

This module does not import Django, because tests in a browser use it.
"""

from __future__ import annotations

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
TABLE = '<table class="wide"><tbody><tr><th>Step</th><td>1 &gt; 0</td></tr></tbody></table>'
# Values that the editor shows, in the form in which it writes them.
SHOWN = (
    "<p>Research &amp; Development</p>",
    "<p>One<br/>two</p>\n<p>three \u00a0no\u00a0break</p>",
    "<h1>a</h1>\n<p>b</p>\n<h2>c</h2>\n<h3>d</h3>\n<h4>e</h4>\n<h5>f</h5>\n<h6>g</h6>",
    "<p><strong>a<em>b</em></strong><em>c</em> <del>d</del> <u>e</u> <sub>f</sub><sup>g</sup> <code>h</code></p>",
    '<p>x <a href="https://x.example/?a=1&amp;b=2">y <strong>z</strong></a>.</p>',
    "<ul>\n<li>a<ol>\n<li>b<ul>\n<li>c</li>\n</ul></li>\n<li>d</li>\n</ol></li>\n<li><br/></li>\n<li>e<br/>f</li>\n</ul>",
    "<blockquote><p>a</p><p>b<br/>c</p></blockquote>\n<p>d</p>",
    "<pre>a\n  b &lt; c</pre>\n<p>d</p>",
    f"<p>a</p>\n{TABLE}\n<p>b</p>",
    TABLE,
    "<p>a</p>\n<p><br/></p>\n<p>b</p>",
    "<p>مرحبا</p>\n<ul>\n<li>مرحبا</li>\n<li>hello</li>\n</ul>",
    "<p>語 &lt;script&gt; 😀</p>",
)
# Word: conditional comments, styles, its own elements, and lists as paragraphs.
WORD = """<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style>p.MsoNormal {margin: 0}</style></head>
<body lang=EN-US><!--StartFragment--><h2>Scope<o:p></o:p></h2>
<p class=MsoNormal style='margin-bottom:8.0pt'>Research &amp; <b style='mso-bidi-font-weight:normal'>Development</b>
<span style='font-style:italic'>plans</span><img src="https://evil.example/x.png" onerror="window.hit = 1"></p>
<p class=MsoListParagraphCxSpFirst style='mso-list:l0 level1 lfo1'><![if !supportLists]><span style='mso-list:Ignore'>·
<span style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp; </span></span><![endif]>one</p>
<p class=MsoListParagraphCxSpLast style='mso-list:l0 level1 lfo1'><![if !supportLists]><span style='mso-list:Ignore'>·
<span style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp; </span></span><![endif]>two</p>
<table class=MsoTableGrid border=1 style='border-collapse:collapse'><tr style='height:1pt'><td width=100
style='padding:0'><p class=MsoNormal>A&amp;B<o:p></o:p></p></td><td colspan=2>C</td></tr></table>
<p class=MsoNormal><a href="https://x.example/a?b=1&amp;c=2" style='color:blue' onclick="window.hit = 1">page</a>
<a href="javascript:window.hit = 1">not a link</a></p>
<script>window.hit = 1</script><!--EndFragment--></body></html>"""
WORD_STORED = (
    "<h2>Scope</h2>\n<p>Research &amp; <strong>Development</strong> <em>plans</em></p>\n"
    "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n"
    '<table><tbody><tr><td><p>A&amp;B</p></td><td colspan="2">C</td></tr></tbody></table>\n'
    '<p><a href="https://x.example/a?b=1&amp;c=2">page</a> not a link</p>'
)
# Google Docs: everything inside a bold element that is not bold.
DOCS = """<meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-1"><p dir="ltr"
style="line-height:1.38"><span style="font-size:11pt;font-weight:700">Bold</span><span style="font-weight:400"> plain
</span></p><ol><li dir="ltr"><p role="presentation"><span>first</span></p></li></ol></b>"""
DOCS_STORED = "<p><strong>Bold</strong> plain</p>\n<ol>\n<li>first</li>\n</ol>"
# A web page: texts in elements that the editor does not know, and a table for the layout.
PAGE = """<section><article>One</article><article>Two <b>three</b></article></section><dl><dt>Term</dt><dd>Meaning</dd></dl>
<table><tr><td><table><tr><td>A</td><td>B</td></tr></table></td></tr></table><section><p>End</p></section>"""
PAGE_STORED = (
    "<p>One</p>\n<p>Two <strong>three</strong></p>\n<p>Term</p>\n<p>Meaning</p>\n"
    "<table><tbody><tr><td><div>A</div><div>B</div></td></tr></tbody></table>\n<p>End</p>"
)
# Attacks on earlier versions of the editor: attachments with their own content.
ATTACKS = (
    """<div data-trix-attachment='{"contentType":"text/html","content":"<img src=x onerror=window.hit=1>"}'></div>a""",
    """<figure data-trix-attachment='{"contentType":"application/vnd.repository.kept","content":"<img src=x
onerror=window.hit=1>","kept":"<hr/>"}'></figure>a""",
    """<div><noscript><div class="123</noscript>456<img src=1 onerror=window.hit=1//"></div></noscript></div>a""",
    "<a href='java&#9;script:window.hit=1'>a</a>",
)
