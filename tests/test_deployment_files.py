"""The example files of docs/how-to/deploy.md, checked by their own programs where these are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repository_site.core import environment
from repository_site.core.environment import PROJECT_DIR
from tests.deployment_programs import FILES, program, run

PAGE = PROJECT_DIR / "docs/how-to/deploy.md"
PAGE_OF_JOBS = PROJECT_DIR / "docs/how-to/jobs.md"
PAGES = (PAGE, PAGE_OF_JOBS, PROJECT_DIR / "docs/how-to/high-availability.md", PROJECT_DIR / "docs/how-to/citus.md")
UNITS = sorted(path for pattern in ("*.service", "*.timer") for path in FILES.glob(pattern))


def test_every_file_is_named_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [path.name for path in sorted(FILES.iterdir()) if f"(files/{path.name})" not in text] == []


def test_the_units(tmp_path: Path) -> None:
    """All units are checked together, because timers name services."""
    analyser = program("systemd-analyze")
    for path in UNITS:
        text = path.read_text(encoding="utf-8")
        text = text.replace("/srv/repository/.venv/bin/python", sys.executable).replace(
            "/srv/repository", str(tmp_path)
        )
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    instances = [str(tmp_path / each.name.replace("@.", "@run_lifecycle.")) for each in UNITS]
    said = run(analyser, "verify", *instances, SYSTEMD_UNIT_PATH=f"{tmp_path}:")
    ours = [line for line in said.splitlines() if "repository" in line]
    assert ours == []


@pytest.mark.parametrize("command", ["run_lifecycle", "measure_storages"])
def test_the_timers_start_existing_commands(command: str) -> None:
    timers = [path.read_text(encoding="utf-8") for path in UNITS if path.suffix == ".timer"]
    assert any(f"Unit=repository-task@{command}.service" in text for text in timers)
    assert list(PROJECT_DIR.glob(f"*/management/commands/{command}.py"))


def settings_of_the_service(text: str) -> set[str]:
    """Return user, working directory and environment of a command."""
    names = "User|Group|WorkingDirectory|EnvironmentFile|Environment|StateDirectory|StateDirectoryMode"
    return set(re.findall(rf"(?:^|-p )((?:{names})=\S+)", text, re.MULTILINE))


def test_manual_and_scheduled_commands_run_like_the_service() -> None:
    service, *others = (
        settings_of_the_service((FILES / name).read_text(encoding="utf-8"))
        for name in ("repository.service", "repository-task@.service", "repository-manage")
    )
    assert len(service) == 7
    assert others == [service, service]


def test_arguments_of_a_manual_command_are_unchanged(tmp_path: Path) -> None:
    """systemd turns $$ into $."""
    fake = tmp_path / "systemd-run"
    fake.write_text("#!/bin/sh\nprintf '<%s>\\n' \"$@\"\n")
    fake.chmod(0o755)
    words = ["provision_storage", "--title", "two  blanks, $HOME ${HOME} $$ %h 'q' \"q\" \\", "", "*"]
    said = run("sh", str(FILES / "repository-manage"), *words, PATH=f"{tmp_path}:{os.environ['PATH']}").splitlines()
    start = said.index("</srv/repository/.venv/bin/python>") + 1
    assert said[start:] == ["<manage.py>", *(f"<{word.replace('$', '$$')}>" for word in words)]


def test_cron_finds_the_command() -> None:
    """Its PATH is /usr/bin:/bin."""
    lines = re.findall(r"^[0-9*/]+ [0-9*]+ \* \* \* +(\S+)", PAGE_OF_JOBS.read_text(encoding="utf-8"), re.MULTILINE)
    assert lines == ["/usr/local/bin/repository-manage"] * 2


def test_nginx_and_the_server_agree() -> None:
    """nginx accepts bodies that the server accepts, and closes idle connections first."""
    site = (FILES / "nginx.conf").read_text(encoding="utf-8")
    limit = re.search(r"client_max_body_size ([0-9]+)m;", site)
    assert limit
    assert int(limit[1]) * 1024 * 1024 > environment.BODY_LIMIT.read({})
    assert "location = /metrics" in site


def test_the_environment_file_names_existing_settings() -> None:
    lines = (FILES / "environment.example").read_text(encoding="utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    known = {variable.name: variable for variable in environment.VARIABLES}
    secret = given.pop("REPOSITORY_SECRET_KEY")
    for name in given:
        known[name].read(given)
    # The file contains no key, so no installation can run with a public one.
    with pytest.raises(environment.EnvironmentProblem, match="at least 50 random characters"):
        environment.SECRET_KEY.read({"REPOSITORY_SECRET_KEY": secret})


class TestContainerfile:
    """Checks of the Containerfile without a container engine."""

    LINES = re.sub(r"\\\n\s*", "", (PROJECT_DIR / "Containerfile").read_text(encoding="utf-8")).splitlines()
    STEPS = [line.split(maxsplit=1) for line in LINES if line and not line.startswith("#")]

    def test_its_instructions(self) -> None:
        known = {
            "FROM",
            "WORKDIR",
            "COPY",
            "RUN",
            "ENV",
            "USER",
            "EXPOSE",
            "HEALTHCHECK",
            "STOPSIGNAL",
            "ENTRYPOINT",
            "CMD",
        }
        assert {name for name, _ in self.STEPS} == known
        users = [value for name, value in self.STEPS if name == "USER"]
        # With its group: some engines would use that of root.
        assert users == ["10001:10001"]
        images = [value.split()[0] for name, value in self.STEPS if name == "FROM"]
        assert set(images) == {"python:3.11-slim-bookworm"}

    def test_the_page_asks_for_the_form_that_has_a_health_check(self) -> None:
        assert "podman build --format docker -t repository ." in PAGE.read_text(encoding="utf-8")

    @pytest.mark.long
    def test_the_copied_files_are_enough(self, tmp_path: Path) -> None:
        for name, value in self.STEPS:
            if name == "COPY" and not value.startswith("--from"):
                *sources, target = value.split()
                for source in sources:
                    here, there = PROJECT_DIR / source, tmp_path / (source if target == "./" else target)
                    shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)
        # As in the image, with the files that it copies only.
        environ = {"REPOSITORY_DATA_DIR": str(tmp_path / "var"), "DJANGO_SETTINGS_MODULE": "repository_site.settings"}
        result = subprocess.run(
            [sys.executable, "manage.py", "check"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PYTHONPATH": "", **environ},
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
