"""The process that reads the text of a content (D446): kinds, bounds, and hostile contents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files import File

from storage.files import text_process, texts
from storage.files.text_process import MOST
from storage.files.texts import ProcessFailed, ReadText, run_process
from storage.models import FileText
from tests.scale import first_quick
from tests.storage.text_samples import docx, odt, pdf, pptx, xlsx, zipped

State = FileText.State
BOMB = "<!DOCTYPE a [<!ENTITY b 'lol'><!ENTITY c '&b;&b;&b;'>]><w:document>&c;</w:document>"


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], ReadText]:
    def reading(content: bytes) -> ReadText:
        path = tmp_path / "content"
        path.write_bytes(content)
        with path.open("rb") as file:
            return run_process(File(file))

    return reading


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Über  alles\nweiter\n\nNeuer Absatz".encode(), "Über alles weiter\nNeuer Absatz"),
        ("﻿Maß;Wert\r\n1;2".encode(), "Maß;Wert 1;2"),
        ("Zeichen".encode("utf-16"), "Zeichen"),
        (pdf("Erste Seite mit Prü-\nfung", "Zweite Seite"), "Erste Seite mit Prüfung\nZweite Seite"),
        (docx("Ein Absatz", "Noch &amp; einer"), "Ein Absatz\nNoch & einer"),
        (pptx(*(f"Folie {number}" for number in range(1, 11))), "\n".join(f"Folie {n}" for n in range(1, 11))),
        (xlsx("Erste Zelle", "Zweite"), "Erste Zelle\nZweite\nInline cell"),
        (odt("Ein <text:span>Text</text:span>", "a<text:s/>b"), "Ein Text\na b"),
    ],
)
def test_text_of_each_kind(read: Callable[[bytes], ReadText], content: bytes, text: str) -> None:
    assert read(content) == ReadText(State.READ, text)


@pytest.mark.parametrize(
    ("content", "state"),
    first_quick(
        [
            (b"", State.EMPTY),
            (b"\x89PNG\r\n\x1a\n\x00\x00", State.EMPTY),
            (b"  <html><p>Markup</p></html>", State.EMPTY),
            ("Käse".encode("latin-1"), State.EMPTY),
            (zipped({"content.xml": "<p>not a document</p>"}), State.EMPTY),
            (zipped({"a.txt": "text"}), State.EMPTY),
            (pdf(""), State.EMPTY),
            (b"%PDF-1.7 nothing else", State.UNREADABLE),
            (b"PK\x03\x04 not an archive", State.UNREADABLE),
            (zipped({"word/document.xml": BOMB}), State.UNREADABLE),
            (zipped({"word/document.xml": "<p><t>cut off"}), State.UNREADABLE),
            (docx("x")[:-30], State.UNREADABLE),
        ],
        4,
    ),
)
def test_contents_without_text(read: Callable[[bytes], ReadText], content: bytes, state: FileText.State) -> None:
    assert read(content) == ReadText(state)


@pytest.mark.long
def test_long_texts_are_cut(read: Callable[[bytes], ReadText]) -> None:
    whole = b"word " * MOST
    for content in (whole, docx(whole.decode()), docx(*["ten letters"] * 30_000), b"w" * 2 * MOST):
        found = read(content)
        assert (found.state, MOST - 20 < len(found.text) <= MOST) == (State.CUT, True)
        assert max(map(len, found.text.split("\n"))) <= text_process.LINE


def test_controls_are_left_out(read: Callable[[bytes], ReadText]) -> None:
    assert read("a\x01b\x7f \x1b c\ufffe".encode()) == ReadText(State.READ, "a b c")


def test_text_before_the_damage_stays(read: Callable[[bytes], ReadText]) -> None:
    content = docx("first", **{"word/footnotes.xml": "<p>"})
    assert read(content) == ReadText(State.CUT, "first")
    begin, end = pdf("second", "first").split(b"<< /Length", 1)
    assert read(begin + b"<< /Filter /Strange /Length" + end) == ReadText(State.CUT, "first")


@pytest.mark.long
def test_a_bomb_is_not_unpacked(read: Callable[[bytes], ReadText]) -> None:
    # Read to its end, it would be unreadable.
    assert read(zipped({"word/document.xml": b"<p>" + b" " * text_process.UNPACKED})) == ReadText(State.EMPTY)


@pytest.mark.long
def test_a_process_that_needs_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, read: Callable[[bytes], ReadText]
) -> None:
    program = tmp_path / "program.py"
    monkeypatch.setattr(texts, "PROGRAM", [*texts.PROGRAM[:2], str(program)])
    monkeypatch.setattr(texts, "LONGEST", 0.5)
    program.write_text("import time; print('begun', flush=True); time.sleep(60)")
    assert read(b"") == ReadText(State.CUT, "begun")
    program.write_text("import time; time.sleep(60)")
    assert read(b"") == ReadText(State.UNREADABLE)
    monkeypatch.setattr(texts, "LONGEST", 30)
    # An endless output is not read to its end.
    program.write_text("while True: print('x' * 1000)")
    assert read(b"") == ReadText(State.CUT, "\n".join(["x" * 1000] * 200)[:MOST])
    # Nothing is known about the content.
    for text in ("import nothing_like_this", "import os; os.kill(os.getpid(), 15)"):
        program.write_text(text)
        with pytest.raises(ProcessFailed):
            read(b"")


def test_the_process_gets_no_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, read: Callable[[bytes], ReadText]
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os, sys; print(sorted({*os.environ} - {'LC_CTYPE'}), os.path.exists('/proc/self/fd/5'))")
    monkeypatch.setattr(texts, "PROGRAM", [*texts.PROGRAM[:2], str(program)])
    assert read(b"") == ReadText(State.READ, "[] False")


@pytest.mark.long
def test_limits_of_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, read: Callable[[bytes], ReadText]
) -> None:
    """Too much memory, and an endless page."""
    program = tmp_path / "program.py"
    source = Path(text_process.__file__).read_text(encoding="utf-8")
    monkeypatch.setattr(texts, "PROGRAM", [*texts.PROGRAM[:2], str(program)])
    begin = "def lines_of(content):\n    yield 'begun'\n"
    for end in ("    yield 'x' * 2**30\n", "    while True: pass\n"):
        changed = source.replace("SECONDS, MEMORY = 20,", "SECONDS, MEMORY = 1,")
        program.write_text(changed.replace("\n\nif __name__", f"\n\n{begin}{end}\n\nif __name__"))
        assert read(b"") == ReadText(State.CUT, "begun")
