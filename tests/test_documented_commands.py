"""Commands with their options, make targets and files that pages name exist, also in blocks that no test runs."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from repository_site.core.environment import PROJECT_DIR
from tests.documentation_pages import DOCUMENTATION, FENCE

INLINE = re.compile(r"`([^`\n]+)`")
TARGETS = set(re.findall(r"^([a-z-]+):", (PROJECT_DIR / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
# A path from the top of the project. A path that begins with a slash or a dot is on the reader's machine.
FILE = re.compile(
    r"(?<![\w/.<-])(?:docs|tests|benchmarks|templates|elements|facets|release|storage|repository_site)/[\w/.-]*\w"
)


def commands(path: Path) -> Iterator[str]:
    """Yield what a page shows to be typed, in blocks and within sentences."""
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        if (fence["kind"] or "").startswith("sh"):
            yield from fence["text"].replace("\\\n", " ").splitlines()
    yield from INLINE.findall(FENCE.sub("", text))


def used(line: str, program: str) -> Iterator[list[str]]:
    """Yield the words after each use of a program in a line."""
    for part in re.split(r"\s[|&;]+\s|\$\(|\)", line.partition(" #")[0]):
        before, found, after = part.strip().partition(program)
        if found and (not before or before.endswith((" ", "/"))) and after.startswith(" "):
            try:
                yield shlex.split(after)
            except ValueError:
                continue


@pytest.mark.parametrize("path", DOCUMENTATION, ids=lambda path: path.stem)
def test_commands_have_the_documented_options(path: Path) -> None:
    for line in commands(path):
        for words in used(line, "manage.py"):
            name = words[0]
            assert name in get_commands(), line
            known = (
                load_command_class(get_commands()[name], name).create_parser("manage.py", name)._option_string_actions
            )
            options = {word.strip("[]").partition("=")[0] for word in words if re.match(r"\[?--[a-z]", word)}
            assert options <= known.keys(), line


@pytest.mark.parametrize("path", DOCUMENTATION, ids=lambda path: path.stem)
def test_documented_make_targets_and_files_exist(path: Path) -> None:
    for line in commands(path):
        for words in used(line, "make"):
            assert words[0] in TARGETS, line
        missing = [each for each in FILE.findall(line) if not (PROJECT_DIR / each).exists()]
        assert missing == [], line


def test_blocks_that_are_not_run_are_valid_shell() -> None:
    for path in DOCUMENTATION:
        for fence in FENCE.finditer(path.read_text(encoding="utf-8")):
            if fence["kind"] == "sh elsewhere":
                done = subprocess.run(["bash", "-n"], input=fence["text"], capture_output=True, text=True, check=False)
                assert done.returncode == 0, fence["text"] + done.stderr


def test_every_use_of_a_program_is_found() -> None:
    assert list(
        used("TOKEN=$(.venv/bin/python manage.py issue_token a b --name x) | manage.py import_storage -", "manage.py")
    ) == [
        ["issue_token", "a", "b", "--name", "x"],
        ["import_storage", "-"],
    ]
    assert list(used("git pull && make setup # and make coffee", "make")) == [["setup"]]
    assert list(used("we make coffee", "manage.py")) == []
