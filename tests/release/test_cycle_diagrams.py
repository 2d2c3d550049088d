"""Drawing release cycles, and the documentation page that shows the standard one."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from facets.blueprint.cycles import ReleaseCycle
from facets.template_format.reading import read_template
from release.cycle_diagrams import describe_states, draw_cycle
from repository_site.core.environment import PROJECT_DIR
from storage.models import Storage
from storage.provisioning.templates import load_template
from tests.facets.small_template import SMALL

PAGE = PROJECT_DIR / "docs/explanation/lifecycle.md"


def cycle(key: str) -> ReleaseCycle:
    return next(each for each in read_template(SMALL).cycles if each.key == key)


def drawn(*words: str) -> str:
    out = StringIO()
    call_command("draw_lifecycle", *words, stdout=out)
    return out.getvalue()


def test_a_cycle_with_all_features() -> None:
    slow = cycle("slow")
    assert draw_cycle(slow) == (
        "stateDiagram-v2\n"
        "    classDef draft fill:#cfe2ff,stroke:#084298,color:#000\n"
        "    classDef review fill:#fff3cd,stroke:#8a6d00,color:#000\n"
        "    classDef published fill:#d1e7dd,stroke:#0a5c36,color:#000\n"
        "    classDef retired fill:#e2e3e5,stroke:#41464b,color:#000\n"
        '    state "draft" as draft\n'
        '    state "checked" as checked\n'
        '    state "out" as out\n'
        '    state "valid" as valid\n'
        '    state "gone" as gone\n'
        "    [*] --> draft: new element, or createversion\n"
        "    draft --> checked: Check\n"
        "    checked --> out: Publish\n"
        "    valid --> gone: End (by task Approve end)<br>validUntil is reached, or a newer version is released\n"
        "    out --> valid: validFrom is reached\n"
        "    out --> gone: validUntil is reached, or a newer version is released\n"
        "    class draft draft\n"
        "    class checked review\n"
        "    class out published\n"
        "    class valid published\n"
        "    class gone retired\n"
    )


def test_states_in_a_table() -> None:
    quick = cycle("quick")
    editable = "only properties that are editable in released versions"
    assert describe_states(quick, 1033).splitlines() == [
        "| state | name | category | who sees it | content |",
        "|---|---|---|---|---|",
        "| `open` | Open | draft | every role above viewer | can be changed |",
        f"| `out` | Out | published | everybody | {editable} |",
        "| `gone` | Gone | retired | every role above viewer | cannot be changed |",
        "",
        "An element has at most one version in draft and review together, and at most one published version.",
    ]


def test_the_page_shows_the_standard_template() -> None:
    """If this fails, run `make docs`."""
    standard = read_template(load_template("standard").sections).cycles[0]
    page = PAGE.read_text(encoding="utf-8")
    assert draw_cycle(standard) in page
    assert describe_states(standard, 1033) in page


def test_writing_into_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- lifecycle: begin -->\nold\n<!-- lifecycle: end -->\nafter\n", encoding="utf-8")
    err = StringIO()
    call_command("draw_lifecycle", "--into", str(page), stderr=err)
    text = page.read_text(encoding="utf-8")
    assert text == f"before\n<!-- lifecycle: begin -->\n{drawn()}<!-- lifecycle: end -->\nafter\n"
    assert err.getvalue() == f"Wrote the diagram into {page}.\n"
    call_command("draw_lifecycle", "--into", str(page), stderr=err)
    assert page.read_text(encoding="utf-8") == text


def test_pages_that_cannot_be_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    with pytest.raises(CommandError, match="No such file"):
        call_command("draw_lifecycle", "--into", str(page))
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(CommandError, match="add the marks"):
        call_command("draw_lifecycle", "--into", str(page))


def test_templates_without_cycles_and_unknown_templates() -> None:
    with pytest.raises(CommandError, match="There is no template 'nothing'"):
        drawn("nothing")


@pytest.mark.django_db
def test_cycles_of_a_storage(storage: Storage) -> None:
    with pytest.raises(CommandError, match="has no release cycle"):
        drawn("--storage", "acme", "handbook")


def test_state_names_in_another_culture() -> None:
    assert "| `inProcess` | In Bearbeitung | draft |" in drawn("--culture", "1031")
