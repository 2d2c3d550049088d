"""The start of a command: modules that take long to import are not loaded, and the list of commands needs no Django."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import get_commands
from django.db import connection

from repository_site import __version__
from repository_site.core.environment import PROJECT_DIR
from repository_site.core.terminal.command_list import command_list

# Each of these once made every command slower by a tenth of a second or more.
FORBIDDEN = {
    "allauth.account.models", "babel", "jwt", "django_filters", "drf_spectacular.openapi", "elements.admin", "facets.admin", "granian", "jsonschema", "lark",
    "croniter", "mcp_types", "opentelemetry", "procrastinate", "prometheus_client", "psutil", "pycountry", "release.admin", "repository_site.urls", "requests",
    "rest_framework.serializers", "rest_framework.views", "rich", "storage.admin", "storage.api", "unfold.admin",
}  # fmt: skip
# Help needs neither the apps nor the driver of the database (D176).
FORBIDDEN_FOR_HELP = FORBIDDEN | {
    "django.contrib.admin", "elements.models", "facets.models", "psycopg", "release.models", "rest_framework", "storage.models",
    "unfold",
}  # fmt: skip
PROGRAM = """
import sys, manage
commands, arguments = "".join(sys.argv[1:2]).split(","), sys.argv[2:]
try:
    for command in commands:
        sys.argv = ["manage.py", command, *arguments] if command else ["manage.py"]
        manage.main()
finally:
    sys.stderr.write(" ".join(name for name, module in sys.modules.items() if module))
"""


def address_of_test_database() -> str:
    database = connection.settings_dict
    address = f"postgresql://{database['USER']}@/{database['NAME']}?host={quote(str(database['HOST']))}"
    return f"{address}&port={database['PORT']}"


def run(*arguments: str, **variables: str) -> tuple[str, set[str]]:
    """Run a command, or several that are separated by commas; return the output and the modules that are loaded."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=PROJECT_DIR,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout, set(result.stderr.split())


@pytest.mark.long
@pytest.mark.django_db
def test_list_storages_loads_nothing_that_it_does_not_need() -> None:
    shown, modules = run("list_storages", "--json", DATABASE_URL=address_of_test_database())
    assert shown == "[]\n"
    assert "psycopg" in modules
    assert sorted(modules & FORBIDDEN) == []


@pytest.mark.long
def test_a_web_process_does_not_load_the_worker() -> None:
    program = "import sys, repository_site.wsgi, repository_site.urls; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PROJECT_DIR,
        env={**os.environ, "DATABASE_URL": address_of_test_database()},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = set(loaded.stdout.split())
    assert "storage.jobs.declaring" in modules
    assert sorted(modules & {"croniter", "mcp_types", "procrastinate", "pydantic", "storage.jobs.worker"}) == []


@pytest.mark.long
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_loads_neither_apps_nor_driver(tmp_path: Path, option: str) -> None:
    names = sorted(our_commands())
    shown, modules = run(",".join(names), option, DATABASE_URL="", REPOSITORY_DATA_DIR=str(tmp_path))
    usages = [line.split()[2] for line in shown.splitlines() if line.startswith("usage: manage.py ")]
    assert usages == names
    assert sorted(modules & FORBIDDEN_FOR_HELP) == []


@pytest.mark.long
def test_help_of_djangos_commands_works() -> None:
    shown, _ = run("showmigrations", "--help", DATABASE_URL=address_of_test_database())
    assert shown.startswith("usage: manage.py showmigrations ")


@pytest.mark.long
@pytest.mark.parametrize("command", ["list_storages", "migrate", "showmigrations"])
def test_version_of_every_command_is_ours(command: str) -> None:
    shown, _ = run(command, "--version", DATABASE_URL=address_of_test_database())
    assert shown == f"{__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"], ["version"], ["--version"]])
def test_help_and_version_need_no_django(arguments: list[str]) -> None:
    shown, modules = run(*arguments)
    assert shown == (f"{__version__}\n" if "version" in str(arguments) else command_list())
    assert "django" not in modules


def our_commands() -> set[str]:
    apps = {"repository_site", "storage", "facets", "elements", "release"}
    return {name for name, app in get_commands().items() if app in apps}


def test_every_command_is_listed() -> None:
    listed = {line.split()[0] for line in command_list().splitlines() if line.startswith("  ")}
    assert listed == our_commands()
