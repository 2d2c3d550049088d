"""What we are made of: the page is current, and an audit finds what is not as it was locked."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from unittest import mock

import pytest

from repository_site.core.environment import PROJECT_DIR
from repository_site.operations import supply_chain
from repository_site.operations.supply_chain import (
    LOCKS,
    PROJECT,
    Package,
    Purpose,
    Vulnerabilities,
    bill_of_materials,
    locked,
    reference,
)


def package(name: str = "django", version: str = "", **fields: object) -> Package:
    given = {"hashes": ("0" * 64,), "needed_by": (PROJECT,), "purpose": Purpose.RUN, **fields}
    return Package(name, version or metadata.version(name), **given)  # type: ignore[arg-type]  # of a test


def test_the_page_is_current() -> None:
    text = (PROJECT_DIR / "docs/reference/dependencies.md").read_text(encoding="utf-8")
    assert text == reference(), "run: make docs"


def test_the_locks_are_read_as_they_are() -> None:
    found = {each.name: each for each in locked()}
    assert len(found) > 60
    assert found["django"].version == metadata.version("django")
    assert PROJECT in found["django"].needed_by
    assert found["asgiref"].needed_by == ("django",)
    purposes = {name: found[name].purpose for name in ("django", "opentelemetry-sdk", "pytest")}
    assert list(purposes.values()) == [Purpose.RUN, Purpose.TRACES, Purpose.DEVELOP]
    assert {path.name for path in PROJECT_DIR.glob("requirements*.txt")} == {path.name for path in LOCKS.values()}
    assert all(len(digest) == 64 for each in found.values() for digest in each.hashes)


def test_locks_and_licences_are_well() -> None:
    assert list(supply_chain._disagreements()) == []
    assert list(supply_chain._lock_problems(locked())) == []
    assert list(supply_chain._licence_problems(locked())) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (package(hashes=()), "locked without a hash"),
        (package(needed_by=()), "nobody needs it"),
        (package("asgiref"), "asgiref: locked, but no longer named in pyproject.toml"),
    ],
)
def test_locks_that_are_not_right(given: Package, said: str) -> None:
    with mock.patch.object(supply_chain, "_named", return_value={"django"}):
        assert any(said in problem for problem in supply_chain._lock_problems([package("psutil"), given]))


def test_locks_that_differ(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("a==1.0 \\\n    # via b\nb==1.0 \\\n    # via content-repository (pyproject.toml)\n")
    other.write_text("a==2.0 \\\n    # via c\nc==1.0 \\\n    # via content-repository (pyproject.toml)\n")
    with mock.patch.dict(supply_chain.LOCKS, {Purpose.RUN: one, Purpose.TRACES: other, Purpose.DEVELOP: one}):
        told = list(supply_chain._disagreements())
        found = {each.name: (each.version, each.needed_by, each.purpose) for each in locked()}
    assert told == ["a: the locks differ (1.0 in one.txt, 2.0 in other.txt); run: make lock"]
    assert found == {
        "a": ("1.0", ("b", "c"), Purpose.RUN),
        "b": ("1.0", (PROJECT,), Purpose.RUN),
        "c": ("1.0", (PROJECT,), Purpose.TRACES),
    }


def test_something_named_is_not_locked() -> None:
    with mock.patch.object(supply_chain, "_named", return_value={"django", "leftpad"}):
        (problem,) = supply_chain._lock_problems([package()])
    assert problem == "leftpad: named in pyproject.toml, but not locked; run: make lock"


def test_what_is_installed_is_compared() -> None:
    found = list(supply_chain._installed_problems([package("structlog", "1.0"), package("leftpad", "2.0")]))
    here = metadata.version("structlog")
    assert found[0] == f"structlog: {here} is installed, 1.0 is locked; run: make setup"
    assert found[1] == "leftpad: not installed; run: make setup"
    assert any(each.startswith("django 5.") and "in no lock" in each for each in found[2:])


def test_files_that_were_changed_or_are_gone(tmp_path: Path) -> None:
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: thing\nVersion: 1.0\n")
    (tmp_path / "same.py").write_text("x")
    (tmp_path / "other.py").write_text("y")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"x").digest()).decode().rstrip("=")
    (info / "RECORD").write_text("".join(f"{name},sha256={digest},1\n" for name in ("same.py", "other.py", "gone.py")))
    (thing,) = metadata.distributions(path=[str(tmp_path)])
    assert [problem.partition(";")[0] for problem in supply_chain._changed_files("thing", thing)] == [
        "thing: other.py is not what was installed",
        "thing: gone.py is missing",
    ]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("MIT", None),
        ("MIT OR Apache-2.0", None),
        ("AGPL-3.0-only", "AGPL-3.0-only"),
        ("", "none that can be read"),
        ("MIT AND GPL-2.0-only", "GPL-2.0-only"),
    ],
)
def test_licences(said: str, problem: str | None) -> None:
    with mock.patch.object(supply_chain, "licence", return_value=said):
        found = list(supply_chain._licence_problems([package()]))
    expected = [f"django: its licence ({problem}) is not one of those allowed in supply_chain.py"]
    assert found == (expected if problem else [])


class TestVulnerabilities:
    """What pip-audit 2 writes, with and without a network, and where its database answers 404."""

    def answer(self, stdout: str, stderr: str = "") -> Vulnerabilities:
        done = subprocess.CompletedProcess([], 1, stdout=stdout, stderr=stderr)
        with (
            mock.patch("repository_site.operations.supply_chain.shutil.which", return_value="/bin/pip-audit"),
            mock.patch("repository_site.operations.supply_chain.subprocess.run", return_value=done) as run,
        ):
            found = supply_chain.vulnerabilities()
        assert {str(path) for path in LOCKS.values()} <= set(run.call_args.args[0])
        return found

    def test_some_are_known(self) -> None:
        found = {"dependencies": [
            {"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}, {"id": "CVE-2", "fix_versions": []}]},
            {"name": "b", "version": "2", "vulns": []},
            {"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}]},
        ]}  # fmt: skip
        assert self.answer(json.dumps(found)) == Vulnerabilities(
            ("a 1: CVE-1; mended in 1.1", "a 1: CVE-2; mended in none")
        )

    def test_none_that_was_not_looked_up_counts_as_safe(self) -> None:
        reason = "Dependency not found on PyPI and could not be audited: b (2)"
        found = {
            "dependencies": [{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": reason}],
            "fixes": [],
        }
        said = self.answer(json.dumps(found), "No known vulnerabilities found\n")
        assert said == Vulnerabilities((), f"1 of 2 packages, such as b: {reason}")

    def test_without_a_network(self) -> None:
        said = self.answer("", "Traceback (most recent call last):\nConnectionError: Failed to resolve 'pypi.org'\n")
        assert said == Vulnerabilities((), "any package: pip-audit said: ConnectionError: Failed to resolve 'pypi.org'")
        assert self.answer("").unknown_for == "any package: pip-audit said: nothing"

    def test_without_the_program(self) -> None:
        with mock.patch("repository_site.operations.supply_chain.shutil.which", return_value=None):
            said = supply_chain.vulnerabilities()
        assert said == Vulnerabilities((), "any package: pip-audit is not on the PATH (pipx install pip-audit)")

    @pytest.mark.parametrize(
        ("found", "lines"),
        [
            (Vulnerabilities(), ["No vulnerability is known in any package."]),
            (Vulnerabilities((), "any: x"), ["Known vulnerabilities were NOT looked up for any: x"]),
        ],
    )
    def test_the_audit_tells_which(
        self, capsys: pytest.CaptureFixture[str], found: Vulnerabilities, lines: list[str]
    ) -> None:
        with (
            mock.patch.object(supply_chain, "vulnerabilities", return_value=found),
            mock.patch.object(supply_chain, "audit", return_value=[]),
        ):
            supply_chain.main(["audit"])
        assert capsys.readouterr().err.splitlines()[:-1] == lines


def test_the_bill_of_materials() -> None:
    bill = bill_of_materials()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    references = {each["bom-ref"] for each in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert len(references) == len(bill["components"]) + 1
    assert {each["ref"] for each in bill["dependencies"]} == references
    needed = {name for each in bill["dependencies"] for name in each["dependsOn"]}
    assert needed == {each["bom-ref"] for each in bill["components"]}
    django = next(each for each in bill["components"] if each["name"] == "django")
    assert django["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert django["properties"]
    orjson = next(each for each in bill["components"] if each["name"] == "orjson")
    assert orjson["licenses"] == [{"expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"}]
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    assert (scopes["django"], scopes["opentelemetry-sdk"], "pytest" in scopes) == ("required", "optional", False)
    assert bill_of_materials() == bill


@pytest.mark.long
def test_the_audit_of_this_very_installation() -> None:
    command = [sys.executable, "-m", "repository_site.operations.supply_chain", "audit"]
    result = subprocess.run(command, cwd=PROJECT_DIR, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == f"{len(locked())} packages: as locked, unchanged, and of allowed licences."
