"""The pages keep what they promise: tutorials run as they stand, and the answers and numbers they show are right.

A page shows an answer in a block marked `json answer` or `text answer` right after the `sh` block that asks for it.
JSON may leave keys out; "..." stands for any value, and at the end of a list for any further ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from repository_site.environment import PROJECT_DIR
from tests.server_process import DataFolders, Server, free_port

pytestmark = [pytest.mark.server, pytest.mark.long]
TUTORIALS = sorted((PROJECT_DIR / "docs/tutorial").glob("*.md"))
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$\n*", re.DOTALL | re.MULTILINE)
FAILURE = re.compile(r'"type": ?"(error|unauthorized)"')
END = "---- end of the block ----"
ANYTHING = "..."


@dataclass(frozen=True)
class Block:
    """A block of commands, and the answer that the page shows for it, if any."""

    commands: str
    kind: str = ""
    answer: str = ""


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    end_of_commands = -1
    for fence in FENCE.finditer(page):
        kind, text = fence["kind"], fence["text"]
        if kind == "sh":
            found.append(Block(text))
            end_of_commands = fence.end()
        elif kind.endswith(" answer"):
            assert fence.start() == end_of_commands, f"No commands stand right before the answer {text}"
            found[-1] = Block(found[-1].commands, kind, text)
    return [block for block in found if block.commands != "make demo\n"]


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def read(path: str) -> str:
    return (PROJECT_DIR / path).read_text(encoding="utf-8")


def differences(shown: Any, real: Any, path: str = "answer") -> Iterator[str]:
    """Where an answer is not what a page shows of it."""
    if shown == ANYTHING:
        return
    if isinstance(shown, dict) and isinstance(real, dict):
        for key, value in shown.items():
            if key in real:
                yield from differences(value, real[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is not there"
    elif isinstance(shown, list) and isinstance(real, list):
        goes_on = shown[-1:] == [ANYTHING]
        items = shown[:-1] if goes_on else shown
        if len(items) > len(real) or (len(items) < len(real) and not goes_on):
            yield f"{path} has {len(real)} items, not {len(items)}"
        for number, (item, real_item) in enumerate(zip(items, real, strict=False)):
            yield from differences(item, real_item, f"{path}[{number}]")
    elif type(shown) is not type(real) or shown != real:
        yield f"{path} is {real!r}, not {shown!r}"


@dataclass(frozen=True)
class Reader:
    """Does what pages say, with a demo on a port of its own, in a folder of its own."""

    server: Server
    folder: Path

    def follow(self, steps: list[Block], seconds: float = 60) -> None:
        script = "".join(f"{self._here(step.commands)}\nprintf '\\n%s\\n' '{END}'\n" for step in steps)
        result = subprocess.run(
            ["bash", "-c", f"set -e -o pipefail\n{script}"],
            cwd=self.folder,
            env=self.server.environ,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        outputs = result.stdout.split(f"\n{END}\n")[:-1]
        for step, output in zip(steps, outputs, strict=False):
            self._check(step, output)
        assert result.returncode == 0, f"{steps[len(outputs)].commands}\n{result.stderr}"

    def _check(self, step: Block, output: str) -> None:
        # A failure that is meant to be seen is asked for with its status line.
        assert " -i " in step.commands or not FAILURE.search(output), f"{step.commands}\n{output}"
        answer = self._here(step.answer)
        if step.kind == "text answer":
            assert output.replace("\r", "").strip() == answer.strip(), step.commands
        elif step.kind:
            found = list(differences(json.loads(answer), json.loads(output)))
            assert found == [], f"{step.commands}\n{output}"

    def _here(self, text: str) -> str:
        """Commands and answers of a page as they are on this machine."""
        return (
            text.replace("127.0.0.1:8000", f"127.0.0.1:{self.server.port}")
            .replace(".venv/bin", str(Path(sys.executable).parent))
            .replace("manage.py", str(PROJECT_DIR / "manage.py"))
        )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("documentation") / "var", free_port())
    data_folders.copy(server.data_dir, "demo", "--no-serve")
    try:
        server.start("demo")
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.ctrl_c()
    server.wait_until_nothing_is_left()


@pytest.fixture
def reader(demo: Server, tmp_path: Path) -> Reader:
    return Reader(demo, tmp_path)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_leaves_nothing_behind(reader: Reader, path: Path) -> None:
    steps = blocks(path.read_text(encoding="utf-8"))
    assert len(steps) > 4
    reader.follow(steps)
    assert list(reader.folder.iterdir()) == []


def test_the_first_call_of_the_readme(reader: Reader) -> None:
    first = blocks(section(read("README.md"), "A first call"))[0]
    assert first.kind == "json answer"
    reader.follow([first])


def test_the_filters_to_try(reader: Reader) -> None:
    page = section(read("docs/reference/filter.md"), "Try it")
    reader.follow(blocks(page))
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| ([0-9]+) \|$", page, re.MULTILINE)
    assert len(rows) > 20
    for facet, view, written, number in rows:
        query = urlencode({"$filter": written, "$resources": "displayNames"})
        address = f"/demo/showcase/_api/rest/facets/{facet}/views/{view}/elements?{query}"
        status, answer = reader.server.request("GET", address)
        assert (status, answer.get("count")) == (200, int(number)), f"{written}\n{answer}"


def test_clients_are_generated_and_used(reader: Reader) -> None:
    if shutil.which("npm") is None:
        if os.environ.get("REPOSITORY_NODE_REQUIRED"):
            pytest.fail("There is no npm; `make node` installs it.")
        pytest.skip("There is no npm on this machine; `make node` installs it.")
    steps = blocks(read("docs/how-to/generate-a-client.md"))
    assert [step.kind for step in steps] == ["", "", "text answer", "", "text answer"]
    reader.follow(steps, seconds=180)


def test_what_a_page_may_leave_out() -> None:
    real = {"count": 2, "elements": [{"name": "a", "is": True}, {"name": "b"}]}
    for shown in (
        {},
        {"count": 2},
        {"elements": [{"name": "a"}, {"name": "..."}]},
        {"elements": [{"is": True}, "..."]},
        {"elements": "..."},
    ):
        assert list(differences(shown, real)) == []


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({"total": 2}, "answer.total is not there"),
        ({"count": "2"}, "answer.count is 2, not '2'"),
        ({"elements": [{"is": 1}, "..."]}, "answer.elements[0].is is True, not 1"),
        ({"elements": [{"name": "a"}]}, "answer.elements has 2 items, not 1"),
        ({"elements": [{}, {}, {}, "..."]}, "answer.elements has 2 items, not 3"),
    ],
)
def test_what_a_page_must_not_say(shown: object, said: str) -> None:
    real = {"count": 2, "elements": [{"name": "a", "is": True}, {"name": "b"}]}
    assert list(differences(shown, real)) == [said]


def test_an_answer_must_follow_its_commands() -> None:
    with pytest.raises(AssertionError, match="No commands stand right before"):
        blocks("```sh\nls\n```\n\nSee:\n\n```json answer\n{}\n```\n")
