"""The start of a command: modules that take long to import are not loaded, and the list of commands needs no Django."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import quote

import pytest
from django.core.management import get_commands
from django.db import connection

from repository_site import __version__
from repository_site.core.command_list import command_list
from repository_site.core.environment import PROJECT_DIR

# Each of these once made every command slower by a tenth of a second or more.
FORBIDDEN = (
    "babel", "django_filters", "drf_spectacular.openapi", "elements.admin", "facets.admin", "lark", "prometheus_client", "pycountry",
    "release.admin", "repository_site.urls", "requests", "rest_framework.serializers", "rich", "storage.admin",
    "unfold.admin",
)  # fmt: skip
PROGRAM = """
import sys, manage
sys.argv = ["manage.py", *sys.argv[1:]]
try:
    manage.main()
finally:
    sys.stderr.write(" ".join(name for name, module in sys.modules.items() if module))
"""


def run(*arguments: str) -> tuple[str, set[str]]:
    """Run a command on the test database; return its output and the modules that it has loaded."""
    database = connection.settings_dict
    address = f"postgresql://{database['USER']}@/{database['NAME']}?host={quote(str(database['HOST']))}"
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=PROJECT_DIR,
        env={**os.environ, "DATABASE_URL": f"{address}&port={database['PORT']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout, set(result.stderr.split())


@pytest.mark.django_db
def test_list_storages_loads_nothing_that_it_does_not_need() -> None:
    shown, modules = run("list_storages", "--json")
    assert shown == "[]\n"
    assert "psycopg" in modules
    assert sorted(modules & set(FORBIDDEN)) == []


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"], ["version"], ["--version"]])
def test_help_and_version_need_no_django(arguments: list[str]) -> None:
    shown, modules = run(*arguments)
    assert shown == (f"{__version__}\n" if "version" in str(arguments) else command_list())
    assert "django" not in modules


def test_every_command_is_listed() -> None:
    ours = {
        name
        for name, app in get_commands().items()
        if app in {"repository_site", "storage", "facets", "elements", "release"}
    }
    listed = {line.split()[0] for line in command_list().splitlines() if line.startswith("  ")}
    assert listed == ours
