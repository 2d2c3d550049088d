"""Health checks of a healthy installation, and of one that is broken in every way that is safe to try."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from io import StringIO
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any
from unittest import mock

import psycopg
import pytest
from django.core.checks import Error
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django import Settings as ChangedSettings

from repository_site.core.database.statements import engine
from repository_site.operations.doctor import examine, growth, worst
from repository_site.operations.doctor.database import judge_clock, judge_connections
from repository_site.operations.doctor.findings import HealthFinding, Level, Look
from repository_site.operations.doctor.installation import entropy, judge_disk
from storage.events import waking
from storage.models import Storage, StorageSize
from tests.mail_server import mail_server
from tests.repository_site.doctor_findings import found, levels, sql
from tests.scale import first_quick
from tests.server_process import free_port, manage

pytestmark = pytest.mark.django_db
MIGRATE = "Run: manage.py migrate"


@pytest.fixture(autouse=True)
def installation(settings: ChangedSettings, tmp_path: Path) -> None:
    """Set what the checks expect."""
    settings.PUBLIC_URL = "https://repository.example.org"
    settings.HTTPS = True
    settings.TRUSTED_PROXIES = (ip_network("10.0.0.5/32"),)
    settings.DATA_DIR = tmp_path


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("doctor", *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


class TestCommand:
    @pytest.mark.long
    @pytest.mark.on_cluster
    def test_an_installation_that_is_well(self, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        # However many rows the tests before this one have left dead.
        monkeypatch.setattr(growth, "WORTH", 10**9)
        for each in Storage.objects.all():
            StorageSize.objects.create(storage=each, measured_on=timezone.now(), elements=1234)
        out, err = run("--strict")
        well = 26 + engine().is_distributed
        assert [line[:8].strip() for line in out.splitlines()] == ["ok"] * well
        assert err == f"0 errors, 0 warnings, {well} ok.\n"
        assert "handbook" not in out
        assert "acme/handbook: 1,234 elements, 0 bytes" in run("--names", "--only", "sizes")[0]

    def test_for_programs_and_with_an_error(self, settings: ChangedSettings) -> None:
        settings.DEBUG = True
        out = StringIO()
        with pytest.raises(CommandError, match=r"^1 errors, 0 warnings, 0 ok$"):
            call_command("doctor", "--json", "--only", "settings", stdout=out)
        assert json.loads(out.getvalue()) == {
            "state": "error",
            "findings": [
                {
                    "check": "settings",
                    "level": "error",
                    "text": "debug mode is on: error pages show code and settings",
                    "advice": "Set DEBUG = False.",
                }
            ],
        }

    def test_warnings_count_when_asked(self, settings: ChangedSettings) -> None:
        settings.PUBLIC_URL = ""
        out, err = run("--only", "settings")
        assert out == (
            "WARNING  settings     no public address is set, so addresses in responses follow each request\n"
            "                      -> Set REPOSITORY_PUBLIC_URL, such as https://repository.example.org.\n"
        )
        assert err == "0 errors, 1 warnings, 0 ok.\n"
        with pytest.raises(CommandError):
            run("--only", "settings", "--strict")

    def test_a_check_that_is_unknown(self) -> None:
        with pytest.raises(CommandError, match="invalid choice: 'colour'"):
            run("--only", "colour")


def test_a_database_that_is_away_keeps_no_other_check_from_being_made() -> None:
    refused = OperationalError("connection refused\nmore")
    with mock.patch.object(connection, "ensure_connection", side_effect=refused):
        findings = list(examine(Look()))
    assert [each.check for each in findings] == [
        "versions",
        "settings",
        "secret key",
        "data folder",
        "files",
        "mail",
        "database",
    ]
    assert (findings[-1].level, findings[-1].text) == (Level.ERROR, "cannot be reached: connection refused")


@pytest.mark.long
def test_nothing_is_made_on_a_machine_where_there_is_nothing(tmp_path: Path) -> None:
    """Neither the folder nor a key nor a database."""
    folder = tmp_path / "var"
    result = manage("doctor", REPOSITORY_DATA_DIR=str(folder), DATABASE_URL="", REPOSITORY_SECRET_KEY="")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert f"ERROR database {folder}/postgres contains no database yet" in lines
    assert "ok secret key none yet; the server creates one" in lines
    assert result.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_tables_that_are_not_there_yet() -> None:
    sql("DROP TABLE storage_lifecyclerun")
    assert found("tasks") == [
        HealthFinding("tasks", Level.WARNING, "not checked: the database has no tables yet", MIGRATE),
    ]


def test_notifications(settings: ChangedSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels("listening") == [(Level.OK, "notifications arrive through DATABASE_URL")]
    own = waking._own_address()
    settings.LISTEN_ADDRESS = own
    assert levels("listening") == [(Level.OK, "notifications arrive through DATABASE_LISTEN_URL")]
    # As through a pooler: listening is possible, but nothing arrives.
    monkeypatch.setattr("repository_site.operations.doctor.database.NOTIFICATION_SECONDS", 0.2)
    settings.LISTEN_ADDRESS = {**own, "dbname": "postgres"}
    assert levels("listening") == [(Level.WARNING, "no notification arrives through DATABASE_LISTEN_URL")]
    settings.LISTEN_ADDRESS = {**own, "host": "127.0.0.1", "port": str(free_port())}
    [(level, text)] = levels("listening")
    assert (level, text.partition(":")[0]) == (Level.ERROR, "DATABASE_LISTEN_URL cannot be reached")


def test_a_check_that_cannot_be_made() -> None:
    with mock.patch("repository_site.operations.doctor.growth.fetch", side_effect=ZeroDivisionError("by\nzero")):
        assert levels("statistics") == [(Level.ERROR, "the check failed: by zero")]


def test_the_worst_counts() -> None:
    assert [worst([HealthFinding("x", level, "") for level in given]) for given in ([], list(Level), list(Level)[:2])] == [
        Level.OK, Level.ERROR, Level.WARNING,
    ]  # fmt: skip


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "level", "text"),
        [
            ({"PUBLIC_URL": "http://repository.example.org"}, Level.WARNING, "is not https"),
            ({"HTTPS": False}, Level.WARNING, "cookies are not secure"),
            ({"TRUSTED_PROXIES": ()}, Level.WARNING, "no proxy is trusted"),
            ({"ALLOWED_HOSTS": ["*"]}, Level.WARNING, "every host name"),
            ({"TRUSTED_PROXIES": (ip_network("0.0.0.0/0"),)}, Level.ERROR, "every client there can claim any address"),
            ({"TRUSTED_PROXIES": (ip_network("::/0"),)}, Level.ERROR, "proxies are trusted in ::/0"),
        ],
    )
    def test_that_are_not_right(
        self, settings: ChangedSettings, changes: dict[str, Any], level: Level, text: str
    ) -> None:
        for name, value in changes.items():
            setattr(settings, name, value)
        ((found_level, found_text),) = levels("settings")
        assert found_level is level
        assert text in found_text

    @pytest.mark.parametrize("key", ["short", "a" * 80, "password" * 10])
    def test_a_weak_key(self, settings: ChangedSettings, key: str) -> None:
        settings.SECRET_KEY = key
        ((level, text),) = levels("secret key")
        assert (level, text.partition(":")[0]) == (Level.ERROR, "weak")
        assert key not in text

    def test_a_key_that_others_may_read(self, tmp_path: Path) -> None:
        kept = tmp_path / "secret-key"
        kept.write_text("x")
        kept.chmod(0o640)
        assert levels("secret key") == [(Level.ERROR, f"other users can read {kept}")]

    def test_earlier_keys(self, settings: ChangedSettings) -> None:
        settings.SECRET_KEY_FALLBACKS = ["x" * 50]
        assert levels("secret key") == [(Level.WARNING, "1 earlier keys are still accepted")]

    def test_what_a_key_holds(self) -> None:
        assert entropy("aaaa") == 0
        assert entropy("abcd") == 8
        assert entropy(secrets.token_urlsafe(64)) > 400
        assert entropy(secrets.token_hex(32)) > 200

    def test_a_folder_that_cannot_be_written_to(self, settings: ChangedSettings, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        settings.DATA_DIR = tmp_path / "file" / "folder"
        ((level, text),) = levels("data folder")
        assert (level, "cannot be written to" in text) == (Level.ERROR, True)

    def test_a_folder_that_is_not_there_yet_is_not_made(self, settings: ChangedSettings, tmp_path: Path) -> None:
        settings.DATA_DIR = tmp_path / "not" / "yet"
        ((level, text),) = levels("data folder")
        assert (level, f"are free on the disk of {tmp_path}/not/yet" in text) == (Level.OK, True)
        assert list(tmp_path.iterdir()) == []

    def test_folder_of_files(self, settings: ChangedSettings, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        for folder, level in (("not yet", Level.OK), ("file", Level.ERROR)):
            settings.FILES_DIR = tmp_path / folder
            assert [each for each, _ in levels("files")] == [level]

    @pytest.mark.parametrize(("free", "level"), [(0.5, Level.OK), (0.019, Level.WARNING), (0.004, Level.ERROR)])
    def test_disks(self, free: float, level: Level) -> None:
        total = 100 * 1024**3
        assert judge_disk(int(total * free), total, "here").level is level
        small = 1024**2
        assert judge_disk(small // 2, small, "here").level is Level.OK

    def test_packages_that_are_not_those_of_the_lock(self, settings: ChangedSettings, tmp_path: Path) -> None:
        settings.PROJECT_DIR = tmp_path
        (tmp_path / "requirements.txt").write_text("django==1.0 \\\n    --hash=sha256:00\nno-such-package==2.0\n")
        ((level, text),) = levels("versions")
        assert level is Level.WARNING
        assert text.startswith("2 packages differ from requirements.txt: django 5.")
        assert text.endswith(" instead of 1.0, no-such-package not installed instead of 2.0")


class TestServer:
    def test_mail(self, settings: ChangedSettings) -> None:
        settings.MAIL_SERVER = None
        assert levels("mail") == [(Level.OK, "EMAIL_URL is not set: messages are shown in the back office only")]
        with mail_server() as (server, _):
            settings.MAIL_SERVER = server
            assert levels("mail") == [(Level.OK, f"{server} answers; mails are from repository@localhost")]
        assert levels("mail") == [(Level.ERROR, f"{server} cannot be used: [Errno 111] Connection refused")]

    def test_no_server_listens(self) -> None:
        ((level, text),) = levels("server", Look(url=f"http://127.0.0.1:{free_port()}"))
        assert (level, "does not respond" in text) == (Level.ERROR, True)

    def test_no_address(self) -> None:
        assert levels("server", Look(url="file:///etc")) == [
            (Level.ERROR, "file:///etc is not the address of a server")
        ]

    def test_one_that_is_ready(self, live_server: Any) -> None:
        assert levels("server", Look(url=live_server.url)) == [
            (Level.OK, f"{live_server.url}/readyz: status ok, database ok, migrations ok")
        ]


class TestDatabase:
    def test_a_role_above_the_law(self) -> None:
        problem = Error("The database role boss is superuser.", hint="Use a role of its own.", id="storage.E010")
        with mock.patch("storage.tenancy.checks._role_problems", return_value=iter([problem])):
            assert found("role") == [
                HealthFinding("role", Level.ERROR, "The database role boss is superuser.", "Use a role of its own.")
            ]

    @pytest.mark.one_node("Citus refuses statements that damage one table of a cluster")
    @pytest.mark.parametrize(
        ("statement", "text"),
        first_quick(
            [
                ("ALTER TABLE elements_element DISABLE ROW LEVEL SECURITY", "row-level security is not enabled."),
                ("ALTER TABLE elements_element NO FORCE ROW LEVEL SECURITY", "so it does not apply to the owner"),
                ("DROP POLICY {policy} ON elements_element", "its only policy must be"),
                ("ALTER TABLE elements_element ALTER storage_id DROP DEFAULT", "storage_id must be NOT NULL"),
            ]
        ),
    )
    def test_tenants_that_are_not_isolated(self, statement: str, text: str) -> None:
        from storage.tenancy.migration_operations import POLICY

        sql(statement.format(policy=POLICY))
        ((level, said),) = levels("tenancy")
        assert level is Level.ERROR
        assert said.startswith("elements_element: ")
        assert text in said

    @pytest.mark.long
    @pytest.mark.on_cluster
    def test_tables_of_another_role(self) -> None:
        with mock.patch("repository_site.operations.doctor.database.fetch", return_value=[("repository", 3)]):
            ((level, text),) = levels("role")
        assert level is Level.ERROR
        assert text == "3 tables or sequences do not belong to repository, so migrations will fail"

    def test_migrations_to_come_and_of_a_newer_release(self) -> None:
        sql("DELETE FROM django_migrations WHERE app = 'release' AND name = '0003_approvals_in_the_log'")
        sql(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('storage', '0999_later', now()), ('gone', 'x', now())"
        )
        assert found("migrations") == [
            HealthFinding("migrations", Level.ERROR, "1 not applied: release.0003_approvals_in_the_log", MIGRATE),
            HealthFinding(
                "migrations",
                Level.ERROR,
                "1 applied migrations are unknown to this release: storage.0999_later",
                "The database belongs to a newer release: run that release, or see docs/how-to/deploy.md to go back.",
            ),
        ]

    def test_an_old_one_and_one_of_another_encoding(self) -> None:
        for row, text in (
            ((140011, "14.11", "UTF8"), "PostgreSQL 14.11 is older than 15"),
            ((150003, "15.3", "SQL_ASCII"), "the encoding is SQL_ASCII instead of UTF8"),
        ):
            with mock.patch("repository_site.operations.doctor.database.fetch", return_value=[row]):
                assert levels("database") == [(Level.ERROR, text)]

    @pytest.mark.long
    @pytest.mark.on_cluster
    def test_indexes_that_are_missing(self) -> None:
        # A cluster changes a table that every node has before the distributed ones.
        (column_index,) = _names_of_indexes("storage_apitoken", "collection_id")
        sql(f'DROP INDEX "{column_index}"')
        sql("DROP INDEX task_by_state")
        sql("DROP INDEX request_count_by_hour")
        assert sorted(text for _, text in levels("indexes")) == [
            "an index over collection_id on storage_apitoken is missing",
            "request_count_by_hour on storage_requestcount is missing",
            "task_by_state on release_task is missing",
        ]

    @pytest.mark.long
    @pytest.mark.on_cluster
    @pytest.mark.parametrize(
        ("name", "is_interrupted", "advice"),
        [
            ("tried_once", False, "REINDEX INDEX CONCURRENTLY tried_once"),
            ("tried_once", True, "DROP INDEX CONCURRENTLY tried_once; then: manage.py migrate"),
            (
                "tried_once_ccnew1",
                False,
                "DROP INDEX CONCURRENTLY tried_once_ccnew1; a REINDEX was interrupted, and the index itself exists.",
            ),
        ],
    )
    def test_an_index_that_was_given_up(
        self, outside: Callable[[str], object], name: str, is_interrupted: bool, advice: str
    ) -> None:
        """The advice leads back to a healthy installation."""
        outside("INSERT INTO tried VALUES (1), (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            outside(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON tried (value)")
        if is_interrupted:
            sql("DELETE FROM django_migrations WHERE app = 'release' AND name = '0003_approvals_in_the_log'")
        assert found("indexes") == [
            HealthFinding("indexes", Level.ERROR, f"{name} on tried is invalid", f"Run in psql: {advice}")
        ]
        outside("DELETE FROM tried")
        outside(advice.partition(";")[0])
        assert [level for level, _ in levels("indexes")] == [Level.OK]

    @pytest.mark.long
    @pytest.mark.on_cluster
    def test_an_index_that_is_being_built(self, outside: Callable[[str], object]) -> None:
        """It waits until no transaction writes to the table."""
        with psycopg.connect(**connection.get_connection_params()) as writer:
            writer.execute("INSERT INTO tried VALUES (1)")
            builder = Thread(target=outside, args=["CREATE INDEX CONCURRENTLY tried_once ON tried (value)"])
            builder.start()
            end = time.monotonic() + 60
            while levels("indexes") != [(Level.OK, "tried_once on tried is being built")]:
                assert time.monotonic() < end, levels("indexes")
        builder.join(60)
        assert "exist and are valid" in levels("indexes")[0][1]

    @pytest.mark.parametrize(
        ("skew", "level", "text"),
        [
            (0.02, Level.OK, "the database and this machine agree within 0.1 s"),
            (-3.04, Level.WARNING, "the clock of the database is 3.0 s behind this machine"),
            (90.0, Level.ERROR, "the clock of the database is 90.0 s ahead of this machine"),
        ],
    )
    def test_clocks(self, skew: float, level: Level, text: str) -> None:
        finding = judge_clock(skew)
        assert (finding.level, finding.text) == (level, text)

    @pytest.mark.parametrize(("left", "level"), [(50, Level.OK), (7, Level.WARNING), (2, Level.ERROR)])
    def test_connections(self, left: int, level: Level) -> None:
        finding = judge_connections(left, 100, 8)
        assert (finding.level, finding.text) == (
            level,
            f"{left} of 100 connections are left; each worker process uses up to 8",
        )

    def test_the_limit_of_the_role_counts(self) -> None:
        sql("ALTER DATABASE " + connection.ops.quote_name(connection.settings_dict["NAME"]) + " CONNECTION LIMIT 2")
        ((level, text),) = levels("connections")
        assert level is Level.ERROR
        assert int(text.split()[0]) < 3

    def test_a_transaction_that_stays_open(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The transaction has just begun, so the limit is below zero."""
        monkeypatch.setattr("repository_site.operations.doctor.database.IDLE_IN_TRANSACTION", -1)
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute("SELECT pg_backend_pid()")
                (pid,) = cursor.fetchone()
                assert (
                    Level.WARNING,
                    f"PostgreSQL process {pid} has had a transaction open for 0 minutes (idle in transaction)",
                ) in levels("connections")
                cursor.execute("ROLLBACK")
        finally:
            other.close()


@pytest.fixture
def outside() -> Iterator[Callable[[str], object]]:
    """Statements outside a transaction, on a table that is dropped afterwards."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute("CREATE TABLE tried (value int)")
        try:
            yield other.execute
        finally:
            other.execute("DROP TABLE tried")


def _names_of_indexes(table: str, column: str) -> list[str]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, table)
    return [
        name for name, each in found.items() if each["index"] and each["columns"] == [column] and not each["unique"]
    ]
