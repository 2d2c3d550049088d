"""Small files with text, as office programs write them, and hostile ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def docx(*paragraphs: str, **more: str | bytes) -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{each}</w:t></w:r></w:p>" for each in paragraphs)
    return zipped({"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>", **more})


def pptx(*slides: str) -> bytes:
    text = "<p:sld xmlns:p='p' {}><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sld>"
    pages = {f"ppt/slides/slide{place}.xml": text.format(A, each) for place, each in enumerate(slides, 1)}
    return zipped({"ppt/presentation.xml": "<p/>", **pages})


def xlsx(*cells: str) -> bytes:
    shared = "".join(f"<si><t>{each}</t><rPh><t>spoken</t></rPh></si>" for each in cells)
    sheet = "<worksheet><c t='inlineStr'><is><t>Inline cell</t></is></c><c><v>4711</v></c></worksheet>"
    parts = {"xl/sharedStrings.xml": f"<sst>{shared}</sst>", "xl/worksheets/sheet1.xml": sheet}
    return zipped({"xl/workbook.xml": "<workbook/>", **parts})


def odt(*paragraphs: str) -> bytes:
    body = "".join(f"<text:p>{each}</text:p>" for each in paragraphs)
    deleted = "<text:tracked-changes><text:p>deleted text</text:p></text:tracked-changes>"
    content = f"<office:document-content {ODF}>{deleted}{body}</office:document-content>"
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def pdf(*pages: str) -> bytes:
    """Return a document with one page for each text, whose lines are lines of the page."""
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for place, text in enumerate(pages):
        lines = " ".join(f"({line}) Tj T*" for line in text.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * place} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>")
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    data, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{each}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()
