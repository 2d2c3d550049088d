"""The commands of the documentation run as written, and their output is what the pages show.

Every block states its kind. `sh` blocks of a page run from first to last against a running demo, together with the
comments `<!-- before`, which prepare what a page assumes. `sh elsewhere` needs an installation (systemd, another
machine); `test_documented_commands.py` checks that its commands, options and files exist. A block `json answer` or
`text answer` follows the commands that it answers. JSON can leave out keys; "..." matches any value, and at the end of
a list any further items.
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

from repository_site.core.environment import PROJECT_DIR
from tests.documentation_pages import DOCUMENTATION, FENCE
from tests.server_process import DataFolders, Server, free_port
from tests.warm_commands import WarmCommands

pytestmark = [pytest.mark.server, pytest.mark.long]
NEEDS_NODE = "generate-a-client"
KINDS = {
    "sh", "sh elsewhere", "json", "json answer", "text", "text answer", "sql", "yaml", "mermaid", "filter",
    "filter-and-query",
}  # fmt: skip
FAILURE = re.compile(r'"type": ?"(error|unauthorized)"')
END = "---- end of the block ----"
ANYTHING = "..."


@dataclass(frozen=True)
class Block:
    """A block of commands with the answer that the page shows, if any."""

    commands: str
    kind: str = ""
    answer: str = ""


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    end_of_commands = -1
    for fence in FENCE.finditer(page):
        kind, text = fence["kind"] or "", fence["text"]
        if fence["before"]:
            found.append(Block(fence["before"]))
        elif kind == "sh":
            found.append(Block(text))
            end_of_commands = fence.end()
        elif kind.endswith(" answer"):
            assert fence.start() == end_of_commands, f"No commands come right before the answer {text}"
            found[-1] = Block(found[-1].commands, kind, text)
    return found


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def read(path: str) -> str:
    return (PROJECT_DIR / path).read_text(encoding="utf-8")


def differences(shown: Any, real: Any, path: str = "answer") -> Iterator[str]:
    """Yield the differences between the answer on a page and the real one."""
    if shown == ANYTHING:
        return
    if isinstance(shown, dict) and isinstance(real, dict):
        for key, value in shown.items():
            if key in real:
                yield from differences(value, real[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is missing"
    elif isinstance(shown, list) and isinstance(real, list):
        is_open = shown[-1:] == [ANYTHING]
        items = shown[:-1] if is_open else shown
        if len(items) > len(real) or (len(items) < len(real) and not is_open):
            yield f"{path} has {len(real)} items, not {len(items)}"
        for number, (item, real_item) in enumerate(zip(items, real, strict=False)):
            yield from differences(item, real_item, f"{path}[{number}]")
    elif type(shown) is not type(real) or shown != real:
        yield f"{path} is {real!r}, not {shown!r}"


@dataclass(frozen=True)
class PageFollower:
    """Run the commands of a page against a demo on its own port, in an empty folder."""

    server: Server
    program: Path
    """A faster replacement of manage.py."""
    folder: Path

    def follow(self, steps: list[Block], seconds: float = 60) -> None:
        script = "".join(f"{self._here(step.commands)}\nprintf '\\n%s\\n' '{END}'\n" for step in steps)
        result = subprocess.run(
            ["bash", "-c", f"set -e -o pipefail\n{script}"],
            cwd=self.folder,
            env={**self.server.environ, "PATH": f"{self.program.parent}:{os.environ['PATH']}"},
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
        # Pages ask for an intended failure with `curl -i`.
        assert " -i " in step.commands or not FAILURE.search(output), f"{step.commands}\n{output}"
        answer = self._here(step.answer)
        if step.kind == "text answer":
            assert output.replace("\r", "").strip() == answer.strip(), step.commands
        elif step.kind:
            found = list(differences(json.loads(answer), json.loads(output)))
            assert found == [], f"{step.commands}\n{output}"

    def _here(self, text: str) -> str:
        """Adapt the commands and answers of a page to this machine."""
        return (
            text.replace("127.0.0.1:8000", f"127.0.0.1:{self.server.port}")
            .replace(".venv/bin/python manage.py", "manage.py")
            .replace(".venv/bin", str(Path(sys.executable).parent))
            .replace("elements/demo/", f"{PROJECT_DIR}/elements/demo/")
        )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("documentation") / "var", free_port())
    # Webhooks of pages send to this machine.
    server.environ["REPOSITORY_WEBHOOK_NETWORKS"] = "127.0.0.0/8"
    data_folders.copy(server.data_dir, "demo", "--no-serve")
    try:
        server.start("demo")
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.ctrl_c()
    server.wait_until_nothing_is_left()


@pytest.fixture(scope="module")
def program(demo: Server) -> Iterator[Path]:
    commands = WarmCommands(demo.data_dir.parent / "commands", demo.environ)
    yield commands.program
    commands.end()


@pytest.fixture
def reader(demo: Server, program: Path, tmp_path: Path) -> Iterator[PageFollower]:
    there = storages(demo)
    yield PageFollower(demo, program, tmp_path)
    for address in storages(demo) - there:
        words = [str(program), "remove_storage", *address.split("/"), "--yes"]
        subprocess.run(words, env=demo.environ, check=True, capture_output=True)


def storages(server: Server) -> set[str]:
    with server.superuser() as connection:
        rows = connection.execute(
            "SELECT c.key, s.key FROM storage_storage s JOIN storage_storagecollection c ON c.id = s.collection_id"
        )
        return {"/".join(row) for row in rows}


def with_commands() -> list[Path]:
    return [path for path in DOCUMENTATION if blocks(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", with_commands(), ids=lambda path: path.stem)
def test_the_commands_of_a_page_run(reader: PageFollower, path: Path) -> None:
    if path.stem == NEEDS_NODE and shutil.which("npm") is None:
        if os.environ.get("REPOSITORY_NODE_REQUIRED"):
            pytest.fail("npm is missing; `make node` installs it.")
        pytest.skip("npm is missing on this machine; `make node` installs it.")
    reader.follow(blocks(path.read_text(encoding="utf-8")), seconds=180)
    if path.parent.name == "tutorial":
        # A tutorial cleans up after itself.
        assert list(reader.folder.iterdir()) == []


def test_every_block_states_its_kind() -> None:
    for path in DOCUMENTATION:
        text = path.read_text(encoding="utf-8")
        kinds = {fence["kind"] for fence in FENCE.finditer(text) if fence["kind"] is not None}
        assert kinds <= KINDS, path
        assert text.count("```") == 2 * sum(fence["kind"] is not None for fence in FENCE.finditer(text)), path


def test_the_filters_to_try(reader: PageFollower) -> None:
    page = section(read("docs/reference/filter.md"), "Try it")
    reader.follow(blocks(page))
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| ([0-9]+) \|$", page, re.MULTILINE)
    assert len(rows) > 20
    for facet, view, written, number in rows:
        query = urlencode({"$filter": written, "$resources": "displayNames"})
        address = f"/demo/showcase/_api/rest/facets/{facet}/views/{view}/elements?{query}"
        status, answer = reader.server.request("GET", address)
        assert (status, answer.get("count")) == (200, int(number)), f"{written}\n{answer}"


def test_pages_can_leave_out_parts_of_answers() -> None:
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
        ({"total": 2}, "answer.total is missing"),
        ({"count": "2"}, "answer.count is 2, not '2'"),
        ({"elements": [{"is": 1}, "..."]}, "answer.elements[0].is is True, not 1"),
        ({"elements": [{"name": "a"}]}, "answer.elements has 2 items, not 1"),
        ({"elements": [{}, {}, {}, "..."]}, "answer.elements has 2 items, not 3"),
    ],
)
def test_differences_are_found(shown: object, said: str) -> None:
    real = {"count": 2, "elements": [{"name": "a", "is": True}, {"name": "b"}]}
    assert list(differences(shown, real)) == [said]


def test_an_answer_follows_its_commands() -> None:
    with pytest.raises(AssertionError, match="No commands come right before"):
        blocks("```sh\nls\n```\n\nSee:\n\n```json answer\n{}\n```\n")
