"""Program that reads the text of a content (D446). Its input is the content, its output the text in UTF-8, one page or
paragraph in a line.

Contents come from anywhere, so this runs in a process of its own, with limits, and imports nothing of the project.
"""

from __future__ import annotations

import codecs
import os
import re
import resource
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

# Limits of the process: CPU time in seconds, and memory in bytes.
SECONDS, MEMORY = 20, 512 * 1024**2
# Characters of the text, and of a line of it.
MOST, LINE = 200_000, 2_000
# Bytes of XML that are read from an archive, and of a text.
UNPACKED, TEXT_BYTES = 16 * 1024**2, 4 * MOST
CHUNK = 64 * 1024
# Codes with which the process ends: the text is cut, the content is not of a kind with text, it cannot be read, or the
# process cannot work.
CUT, NO_TEXT, UNREADABLE, BROKEN = 10, 11, 12, 1
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# A word that goes on in the next line of a page.
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n(?=[^\W\d_A-Z])")
PARAGRAPHS = re.compile(r"\n\s*\n")
# Characters that are neither text nor blanks.
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff\ufffe\uffff]+")


class NoText(Exception):
    """The content is not of a kind that has text."""


class Full(Exception):
    """There is more text than is kept."""


@dataclass(frozen=True, slots=True)
class ArchiveKind:
    """Documents in an archive that have text, in their order, and the elements around it. Names have no prefix."""

    documents: tuple[str, ...]
    texts: frozenset[str]
    lines: frozenset[str]
    blanks: frozenset[str]
    skipped: frozenset[str]


def _kind(documents: tuple[str, ...], texts: str, lines: str, blanks: str, skipped: str) -> ArchiveKind:
    return ArchiveKind(documents, *(frozenset(each.split()) for each in (texts, lines, blanks, skipped)))


# Deleted text, comments, and drawings for programs that do not know newer ones are left out, as are pronunciations.
KINDS = {
    "word/document.xml": _kind(
        (r"word/document\.xml", r"word/(foot|end)notes\.xml", r"word/(header|footer)\d*\.xml"),
        "t", "p", "tab br cr", "Fallback",
    ),
    "xl/workbook.xml": _kind(
        (r"xl/sharedStrings\.xml", r"xl/worksheets/[^/]+\.xml"), "t", "si is", "", "rPh",
    ),
    "ppt/presentation.xml": _kind(
        (r"ppt/slides/slide\d+\.xml", r"ppt/notesSlides/notesSlide\d+\.xml"), "t", "p", "tab br", "Fallback",
    ),
    "content.xml": _kind((r"content\.xml",), "p h", "p h", "s tab line-break", "tracked-changes annotation"),
}  # fmt: skip


def lines_of(content: BinaryIO) -> Iterator[str]:
    """Yield the text of a content, page by page or paragraph by paragraph."""
    head = content.read(1024)
    content.seek(0)
    if head.startswith(b"%PDF-"):
        return _pdf(content)
    if head.startswith(b"PK\x03\x04"):
        return _archive(content)
    return _plain(head, content)


def _plain(head: bytes, content: BinaryIO) -> Iterator[str]:
    encoding = next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")
    data = content.read(TEXT_BYTES)
    try:
        # The last character may be cut off.
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=len(data) < TEXT_BYTES)
    except UnicodeDecodeError:
        raise NoText from None
    # Markup is not a text for people.
    if "\0" in text or text.lstrip().startswith("<"):
        raise NoText
    yield from PARAGRAPHS.split(text.replace("\r\n", "\n"))
    if len(data) == TEXT_BYTES:
        raise Full


def _pdf(content: BinaryIO) -> Iterator[str]:
    from pypdf import PdfReader

    reader = PdfReader(content)
    # Many documents have an empty password: they only forbid changes.
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("encrypted")
    damaged: Exception | None = None
    for page in reader.pages:
        try:
            text = page.extract_text()
        except MemoryError:
            raise
        except Exception as problem:  # other pages can be read
            damaged = problem
            continue
        yield HYPHEN.sub("", text)
    if damaged is not None:
        raise damaged


def _archive(content: BinaryIO) -> Iterator[str]:
    with ZipFile(content) as archive:
        names = archive.NameToInfo.keys()
        kind = next((kind for name, kind in KINDS.items() if name in names), None)
        if kind is None or ("content.xml" in names and "mimetype" not in names):
            raise NoText
        left = UNPACKED
        for pattern in kind.documents:
            for name in sorted(filter(re.compile(pattern).fullmatch, names), key=_in_order):
                info = archive.NameToInfo[name]
                if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & 1:
                    raise ValueError("encrypted, or compressed in an unusual way")
                with archive.open(info) as file:
                    left = yield from _document(file, kind, left)


def _in_order(name: str) -> tuple[int, str]:
    """Order slide10 after slide9."""
    return len(name), name


def _document(file: IO[bytes], kind: ArchiveKind, left: int) -> Generator[str, None, int]:
    """Yield the lines of a document, and return how many of the bytes others may read."""
    reader = _DocumentReader(kind)
    while data := file.read(min(CHUNK, left)):
        left -= len(data)
        reader.parser.Parse(data, False)
        yield from reader.take()
    if not left:
        raise Full
    reader.parser.Parse(b"", True)
    yield from reader.take()
    return left


class _DocumentReader:
    def __init__(self, kind: ArchiveKind) -> None:
        self.kind = kind
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add
        self.parser.StartDoctypeDeclHandler = self._refuse
        self._lines: list[str] = []
        self._line: list[str] = []
        self._inside = self._skipped = self._length = 0

    def take(self) -> list[str]:
        taken, self._lines = self._lines, []
        return taken

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        plain = name.rpartition(":")[2]
        if plain in self.kind.lines:
            self._end_line()
        elif plain in self.kind.blanks:
            self._line.append(" ")
        self._inside += plain in self.kind.texts
        self._skipped += plain in self.kind.skipped

    def _end(self, name: str) -> None:
        plain = name.rpartition(":")[2]
        self._inside -= plain in self.kind.texts
        self._skipped -= plain in self.kind.skipped
        if plain in self.kind.lines:
            self._end_line()

    def _add(self, text: str) -> None:
        if self._inside and not self._skipped:
            self._line.append(text)
            self._length += len(text)
            if self._length > MOST:
                self._end_line()

    def _end_line(self) -> None:
        if self._line:
            self._lines.append("".join(self._line))
            self._line.clear()
            self._length = 0

    def _refuse(self, *declaration: object) -> None:
        # Entities could make a small file large.
        raise ValueError("document type")


def tidied(text: str) -> Iterator[str]:
    """Yield a paragraph without controls, with single blanks, in pieces that are not longer than a line."""
    text = " ".join(CONTROLS.sub(" ", text[: MOST + 1]).split())
    while len(text) > LINE:
        end = text.rfind(" ", LINE // 2, LINE + 1)
        end = LINE if end < 0 else end
        yield text[:end]
        text = text[end:].lstrip()
    if text:
        yield text


def write_text(content: BinaryIO, output: BinaryIO) -> None:
    left = MOST
    for text in lines_of(content):
        for line in tidied(text):
            output.write(f"{line[:left]}\n".encode())
            left -= len(line) + 1
            if left <= 0:
                raise Full
        # Stays, if the process is ended.
        output.flush()


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # pypdf would have other programs decode some pictures.
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    os.nice(10)
    try:
        write_text(sys.stdin.buffer, sys.stdout.buffer)
    except Full:
        return CUT
    except NoText:
        return NO_TEXT
    except ImportError:
        return BROKEN
    except Exception:  # whatever a forged content causes
        return UNREADABLE
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Freeing everything would take time.
    os._exit(code)
