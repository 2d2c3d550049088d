"""Figures of tests, from their file to the table on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import figures, reliability


def test_from_notes_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, page = tmp_path / "figures.json", tmp_path / "page.md"
    monkeypatch.setenv(figures.VARIABLE, str(path))
    monkeypatch.setattr(reliability, "PAGE", page)
    figures.note("faults", "b", tried=10, lost=0)
    figures.note("faults", "a", tried=1, lost=0)
    figures.note("faults", "b", tried=20, lost=0)
    figures.note("cases", "reading", cases=5000)
    text = "# Page\n<!-- figures of faults -->old<!-- end of faults -->\n<!-- figures of cases -->\n<!-- end of cases -->\nEnd\n"
    page.write_text(text)
    expected = """# Page
<!-- figures of faults -->

|  | requests tried | lost or half written |
| --- | ---: | ---: |
| a | 1 | 0 |
| b | 20 | 0 |

<!-- end of faults -->
<!-- figures of cases -->

|  | requests tried |
| --- | ---: |
| reading | 5000 |

<!-- end of cases -->
End
"""
    for _ in range(2):
        reliability.main()
        assert page.read_text() == expected


def test_a_group_without_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(figures.VARIABLE, str(tmp_path / "figures.json"))
    monkeypatch.setattr(reliability, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text("nothing")
    figures.note("cases", "reading", cases=1)
    with pytest.raises(SystemExit, match=r"no place for the group cases: add <!-- figures of cases -->"):
        reliability.main()


def test_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(figures.VARIABLE, raising=False)
    figures.note("faults", "kept nowhere", tried=1)
    with pytest.raises(SystemExit, match="REPOSITORY_FIGURES must name the file"):
        reliability.main()


@pytest.mark.parametrize(("group", "most"), [("faults", 14), ("clock", 3), ("attacks", 9), ("fairness", 11)])
def test_the_page_tells_what_was_tried(group: str, most: int) -> None:
    text = reliability.PAGE.read_text(encoding="utf-8")
    part = text.partition(f"<!-- figures of {group} -->")[2].partition(f"<!-- end of {group} -->")[0]
    assert len(part.strip().splitlines()) == most + 2, f"run make reliability: {part}"
