"""`docs/explanation/security.md` names existing tests, and its claim that the service opens no address is true."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR

PAGE = (PROJECT_DIR / "docs/explanation/security.md").read_text(encoding="utf-8")
# A test, a file or a folder.
NAMED = re.compile(r"`(tests/[\w/]+(?:\.py|/))(?:::(\w+))?`")
RISKS = [f"API{number}" for number in range(1, 11)]
OURS = ("repository_site", "storage", "facets", "elements", "release")
IMPORT = re.compile(
    r"^\s*(?:from|import)\s+(?:urllib|http|ftplib|smtplib|telnetlib|requests|httpx|aiohttp)", re.MULTILINE
)
# Modules that can open an address. The service needs none: it reaches the embedded PostgreSQL through its driver.
NETWORK = {"urllib.request", "http.client", "ftplib", "smtplib", "telnetlib", "requests", "httpx", "aiohttp", "urllib3"}


def functions(path: str) -> set[str]:
    tree = ast.parse((PROJECT_DIR / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def sections() -> dict[str, str]:
    found = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    return {each.partition("\n")[0]: each for each in found}


def test_every_named_test_exists() -> None:
    named = NAMED.findall(PAGE)
    missing = [f"{path}::{name}" for path, name in named if not (PROJECT_DIR / path).exists()]
    missing += [f"{path}::{name}" for path, name in named if name and name not in functions(path)]
    assert missing == []
    assert len(named) > 40


def test_every_risk_has_measures_and_tests() -> None:
    texts = [text for title, text in sections().items() if title.partition(" ")[0] in RISKS]
    assert len(texts) == len(RISKS)
    for text in texts:
        assert "**Here:**" in text, text
        assert "**Measures:**" in text, text
        assert NAMED.search(text), text


def modules() -> Iterator[tuple[Path, str]]:
    for folder in OURS:
        for path in (PROJECT_DIR / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if IMPORT.search(text) else ():
                if isinstance(node, ast.Import):
                    yield from ((path, name.name) for name in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield path, node.module
                    yield from ((path, f"{node.module}.{name.name}") for name in node.names)


def test_the_server_fetches_nothing() -> None:
    """Except for the command `doctor`, which asks the servers that the operator names for their health, for mails,
    which go to the mail server of the operator, and for webhooks and identity providers, whose addresses are checked:
    allauth's requests have the same transport (D505)."""
    found = [(path.relative_to(PROJECT_DIR).as_posix(), name) for path, name in modules() if name in NETWORK]
    assert sorted(found) == [
        ("repository_site/core/outgoing/posting.py", "http.client"),
        ("repository_site/operations/doctor/installation.py", "smtplib"),
        ("repository_site/operations/doctor/installation.py", "urllib.request"),
        ("storage/messages/answers.py", "smtplib"),
        ("storage/single_sign_on/adapter.py", "requests"),
    ]
