"""The example files of docs/how-to/deploy.md, as far as their own programs are here to check them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repository_site import environment
from repository_site.environment import PROJECT_DIR

FILES = PROJECT_DIR / "docs/how-to/files"
PAGE = PROJECT_DIR / "docs/how-to/deploy.md"
UNITS = sorted(path for pattern in ("*.service", "*.timer") for path in FILES.glob(pattern))
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SYSTEMD = shutil.which("systemd-analyze")


def run(*command: str, **environ: str) -> str:
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environ}
    )
    output = result.stdout + result.stderr
    assert result.returncode == 0, output
    return output


def test_every_file_is_named_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [path.name for path in sorted(FILES.iterdir()) if f"(files/{path.name})" not in page] == []


@pytest.mark.skipif(SYSTEMD is None, reason="there is no systemd here")
def test_the_units(tmp_path: Path) -> None:
    """All together: timers name services."""
    for path in UNITS:
        text = path.read_text(encoding="utf-8")
        text = text.replace("/srv/repository/.venv/bin/python", sys.executable).replace(
            "/srv/repository", str(tmp_path)
        )
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    instances = [str(tmp_path / each.name.replace("@.", "@run_lifecycle.")) for each in UNITS]
    said = run(str(SYSTEMD), "verify", *instances, SYSTEMD_UNIT_PATH=f"{tmp_path}:")
    ours = [line for line in said.splitlines() if "repository" in line]
    assert ours == []


@pytest.mark.parametrize("command", ["run_lifecycle", "measure_storages"])
def test_the_timers_start_commands_that_there_are(command: str) -> None:
    timers = [path.read_text(encoding="utf-8") for path in UNITS if path.suffix == ".timer"]
    assert any(f"Unit=repository-task@{command}.service" in text for text in timers)
    assert list(PROJECT_DIR.glob(f"*/management/commands/{command}.py"))


@pytest.mark.skipif(NGINX is None, reason="there is no nginx here")
def test_the_site_of_nginx(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "fullchain.pem"
    run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
        "-subj", "/CN=repository.example.org", "-keyout", str(key), "-out", str(certificate),
    )  # fmt: skip
    proxy = tmp_path / "proxy.conf"
    shutil.copy(FILES / "nginx-proxy.conf", proxy)
    site = (FILES / "nginx.conf").read_text(encoding="utf-8")
    site = site.replace("/etc/ssl/repository", str(tmp_path)).replace("/etc/nginx/repository-proxy.conf", str(proxy))
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {site} }}")
    assert "test is successful" in run(str(NGINX), "-t", "-p", str(tmp_path), "-c", str(whole))


def test_nginx_and_the_server_agree() -> None:
    """Bodies that the server takes pass; idle connections end here after they do there."""
    site = (FILES / "nginx.conf").read_text(encoding="utf-8")
    limit = re.search(r"client_max_body_size ([0-9]+)m;", site)
    assert limit
    assert int(limit[1]) * 1024 * 1024 > environment.BODY_LIMIT.read({})
    assert "location = /metrics" in site


def test_the_environment_names_settings_that_there_are() -> None:
    lines = (FILES / "environment.example").read_text(encoding="utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    known = {variable.name: variable for variable in environment.VARIABLES}
    secret = given.pop("REPOSITORY_SECRET_KEY")
    for name in given:
        known[name].read(given)
    # Whoever forgets to change it has no installation with a key that everybody knows.
    with pytest.raises(environment.EnvironmentProblem, match="at least 50 random characters"):
        environment.SECRET_KEY.read({"REPOSITORY_SECRET_KEY": secret})


class TestContainerfile:
    """There may be no container engine here; what can be said without one."""

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
        assert users == ["10001"]
        images = [value.split()[0] for name, value in self.STEPS if name == "FROM"]
        assert all(":" in image and not image.endswith(":latest") for image in images)

    @pytest.mark.long
    def test_what_it_copies_is_enough(self, tmp_path: Path) -> None:
        for name, value in self.STEPS:
            if name == "COPY" and not value.startswith("--from"):
                *sources, target = value.split()
                for source in sources:
                    here, there = PROJECT_DIR / source, tmp_path / (source if target == "./" else target)
                    shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)
        # As in the image: without what only developers install there would be no more to see here.
        environ = {"REPOSITORY_DATA_DIR": str(tmp_path / "var"), "DJANGO_SETTINGS_MODULE": "repository_site.settings"}
        result = subprocess.run(
            [sys.executable, "manage.py", "check"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PYTHONPATH": "", **environ},
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
