"""Environment variables: values, defaults, and errors in one line."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from repository_site.core import environment
from repository_site.core.environment import EnvironmentProblem, Variable
from repository_site.core.environment.mail_server import MailServer
from repository_site.core.environment.reference import PAGE, reference
from repository_site.core.environment.values import Rate
from repository_site.operations.secret_key import load_or_make_secret_key
from tests.server_process import manage

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        (environment.PUBLIC_URL, "https://repo.example/", "https://repo.example"),
        (environment.ALLOWED_HOSTS, "a.example, b.example,", ["a.example", "b.example"]),
        (environment.HTTPS, "", None),
        (environment.HTTPS, "Yes", True),
        (environment.HTTPS, "0", False),
        (environment.TRUSTED_PROXIES, "10.0.0.1,fd00::/8", (ip_network("10.0.0.1/32"), ip_network("fd00::/8"))),
        (environment.TOKEN_RATE, "2.5/10", Rate(2.5, 10)),
        (environment.TOKEN_RATE, "OFF", None),
        (environment.POOL_SIZE, "4", 4),
        (environment.LOG_LEVEL, "DEBUG", "debug"),
        (environment.BODY_LIMIT, "", 10 * 1024 * 1024),
        (environment.EMAIL_URL, "", None),
        (environment.EMAIL_URL, "smtp://mail.example", MailServer("mail.example", 587, "", "", False, False)),
        (environment.EMAIL_URL, "smtp://a%40b:p%2Fq@h:25/", MailServer("h", 25, "a@b", "p/q", True, False)),
        (environment.EMAIL_URL, "smtp://a:b@h:25?starttls=false", MailServer("h", 25, "a", "b", False, False)),
        (environment.EMAIL_URL, "smtp://[::1]:25?starttls=true", MailServer("::1", 25, "", "", True, False)),
        (environment.EMAIL_URL, "smtps://a:b@h", MailServer("h", 465, "a", "b", False, True)),
        (environment.DEFAULT_FROM_EMAIL, "Repository <a@example.org>", "Repository <a@example.org>"),
    ],
)
def test_values(variable: Variable[Any], text: str, value: Any) -> None:
    assert variable.read({variable.name: text}) == value


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (environment.PUBLIC_URL, "repo.example", "expected an address such as https://repository.example.org"),
        (environment.HTTPS, "maybe", "expected true or false"),
        (environment.TRUSTED_PROXIES, "proxy", "does not appear to be an IPv4 or IPv6 network"),
        (environment.TOKEN_RATE, "100", "expected requests a second and burst, such as 300/3000, or off"),
        (environment.TOKEN_RATE, "0/5", "both numbers must be above zero"),
        (environment.TOKEN_RATE, "nan/5", "both numbers must be above zero"),
        (environment.POOL_SIZE, "0", "expected a whole number, 1 or more"),
        (environment.REGION, "Germany", "expected an ISO region such as DE"),
        (environment.TIME_ZONE, "Mars/Olympus", "expected an IANA time zone such as Europe/Berlin"),
        (environment.TIME_ZONE, "../etc/passwd", "expected an IANA time zone such as Europe/Berlin"),
        (environment.LOG_FORMAT, "xml", "expected one of json, console"),
        (environment.DEFAULT_FROM_EMAIL, "nobody", "expected an address such as repository@example.org or"),
        (environment.DEFAULT_FROM_EMAIL, "a@b\nBcc: c@d", "expected an address such as repository@example.org or"),
    ],
)
def test_mistakes(variable: Variable[Any], text: str, message: str) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        variable.read({variable.name: text})
    assert str(caught.value).startswith(f"{variable.name}={text!r}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (environment.DATABASE_URL, "mysql://u:topsecret@h/db", "expected an address such as postgresql://"),
        (environment.DATABASE_URL, "postgresql://u:topsecret@h/db?topsecret=1", "invalid URI query parameter"),
        (environment.DATABASE_URL, "postgresql://u:topsecret@h", "the address must end with the name of the database"),
        (environment.EMAIL_URL, "http://u:topsecret@h", "expected an address such as smtp://user:password@mail"),
        (environment.EMAIL_URL, "smtp://u:topsecret@h/folder", "expected an address such as smtp://user:password@mail"),
        (environment.EMAIL_URL, "smtp://u:topsecret@h:70000", "the port must be a number from 1 to 65535"),
        (environment.EMAIL_URL, "smtp://topsecret@h", "expected both a user and a password, or neither"),
        (environment.EMAIL_URL, "smtps://u:topsecret@h?starttls=true", "smtps is encrypted from the start"),
        (environment.EMAIL_URL, "smtp://u:topsecret@h?tls=1", "tls: unknown option; the only one is starttls=true or"),
        (environment.EMAIL_URL, "smtp://u:topsecret@h?starttls=1", "starttls: expected true or false"),
        (environment.SECRET_KEY, "topsecret", "expected at least 50 random characters"),
    ],
)
def test_mistakes_in_secrets_do_not_show_them(variable: Variable[Any], text: str, message: str) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        variable.read({variable.name: text})
    assert str(caught.value).startswith(f"{variable.name}=...: {message}")
    assert "topsecret@" not in str(caught.value)


def test_the_address_of_a_database_in_its_parts() -> None:
    text = "postgresql://me:pass%20word@db.example:6543/house?sslmode=require"
    assert environment.DATABASE_URL.read({"DATABASE_URL": text}) == {
        "user": "me",
        "password": "pass word",
        "host": "db.example",
        "port": "6543",
        "dbname": "house",
        "sslmode": "require",
    }


def test_an_unknown_region_is_refused_by_every_command(tmp_path: Path) -> None:
    result = manage("check", REPOSITORY_REGION="XX", REPOSITORY_DATA_DIR=str(tmp_path))
    assert result.returncode == 1
    assert "(storage.E020) REPOSITORY_REGION: " in result.stderr


def test_a_response_that_cannot_contain_an_element_is_refused(tmp_path: Path) -> None:
    sizes = {"REPOSITORY_ATTRIBUTE_BYTES": "1000", "REPOSITORY_RESPONSE_BYTES": "19999"}
    result = manage("check", **sizes, REPOSITORY_DATA_DIR=str(tmp_path))
    assert (result.returncode, result.stderr.strip()) == (
        1,
        "error: REPOSITORY_RESPONSE_BYTES=19999: with REPOSITORY_ATTRIBUTE_BYTES=1000, expected 20000 or more, twice the"
        " size of all attributes of an element",
    )
    environment.check_sizes(1000, 20_000)


@pytest.mark.parametrize(
    ("primary", "replica", "message"),
    [
        ({}, {"user": "a", "dbname": "b"}, "DATABASE_REPLICA_URL: only a PostgreSQL of DATABASE_URL has replicas"),
        (
            {"user": "a", "dbname": "b"},
            {"user": "postgres", "dbname": "b"},
            "DATABASE_REPLICA_URL: expected the role of DATABASE_URL",
        ),
        (
            {"user": "a", "dbname": "b"},
            {"user": "a", "dbname": "c"},
            "DATABASE_REPLICA_URL: expected the database of DATABASE_URL",
        ),
    ],
)
def test_a_replica_has_the_role_and_the_database_of_the_primary(
    primary: dict[str, str], replica: dict[str, str], message: str
) -> None:
    with pytest.raises(EnvironmentProblem) as refused:
        environment.check_replica(primary, replica)
    assert str(refused.value) == message
    environment.check_replica(primary, {})
    environment.check_replica({"user": "a", "dbname": "b", "host": "x"}, {"user": "a", "dbname": "b", "host": "y"})


def test_mail_needs_the_public_address() -> None:
    server = MailServer("h", 25, "user", "secret", False, False)
    assert "secret" not in repr(server)
    environment.check_mail(None, "")
    environment.check_mail(server, "https://repository.example.org")
    with pytest.raises(EnvironmentProblem) as refused:
        environment.check_mail(server, "")
    assert str(refused.value) == "EMAIL_URL: set REPOSITORY_PUBLIC_URL too; links in mails begin with it"


def test_an_unusable_data_folder_gives_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    result = manage("check", REPOSITORY_DATA_DIR=str(file / "var"))
    assert (result.returncode, result.stderr) == (
        1,
        f"error: REPOSITORY_DATA_DIR={str(file / 'var')!r} cannot be used: Not a directory\n",
    )


def test_an_empty_database_names_the_command_to_run(tmp_path: Path) -> None:
    result = manage("list_storages", REPOSITORY_DATA_DIR=str(tmp_path / "var"), DATABASE_URL="")
    assert result.returncode == 1
    assert (
        result.stderr.splitlines()[-1] == "CommandError: The database has no tables yet. Create them: manage.py migrate"
    )
    assert "Traceback" not in result.stderr


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference()


def test_an_invalid_setting_stops_every_command_with_one_line(tmp_path: Path) -> None:
    result = manage("check", REPOSITORY_POOL_SIZE="many", REPOSITORY_DATA_DIR=str(tmp_path))
    assert result.returncode == 1
    assert result.stderr == "error: REPOSITORY_POOL_SIZE='many': expected a whole number, 1 or more\n"


def test_the_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    result = manage(
        *["check", "--deploy", "--fail-level", "WARNING"],
        REPOSITORY_PUBLIC_URL="https://repository.example.org",
        REPOSITORY_DATA_DIR=str(tmp_path),
    )
    assert (result.returncode, result.stdout) == (0, "System check identified no issues (0 silenced).\n")


def test_the_secret_key_is_created_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret-key"
    key = load_or_make_secret_key(path)
    assert len(key) >= 50
    assert load_or_make_secret_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["secret-key"]
