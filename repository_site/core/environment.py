"""Everything an operator can set from outside, in one declared list.

`settings.py` reads only from here, so that every variable has a name, a type, a default and an explanation,
and a mistake in one is a single line that says what would be right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

T = TypeVar("T")
Network = IPv4Network | IPv6Network


class EnvironmentProblem(Exception):
    """A variable holds something that cannot be used; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A token bucket: `per_second` requests on average, bursts of up to `burst`."""

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Variable(Generic[T]):
    """`is_secret` keeps the value out of messages."""

    name: str
    parse: Callable[[str], T]
    default: str
    help: str
    is_secret: bool = False

    def read(self, environ: Mapping[str, str] | None = None) -> T:
        text = (os.environ if environ is None else environ).get(self.name, "").strip() or self.default
        try:
            return self.parse(text)
        except ValueError as problem:
            shown = "..." if self.is_secret else repr(text)
            raise EnvironmentProblem(f"{self.name}={shown}: {problem}") from None


def _words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def _boolean(text: str) -> bool | None:
    if text == "":
        return None
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("expected true or false")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("expected a whole number from 1 up")
    return int(text)


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _address(text: str) -> str:
    if text == "":
        return ""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise ValueError("expected an address such as https://repository.example.org")
    return text.rstrip("/")


def _database(text: str) -> dict[str, str]:
    """The parts of a PostgreSQL address by their libpq names; none when it is empty."""
    if text == "":
        return {}
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("expected an address such as postgresql://user:password@host:5432/name")
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except ProgrammingError as problem:
        raise ValueError(str(problem).strip().splitlines()[0]) from None
    if not parts.get("dbname"):
        raise ValueError("the name of the database is missing at the end of the address")
    return parts


def _secret(text: str) -> str:
    if text and len(text) < 50:
        raise ValueError("expected at least 50 random characters")
    return text


def _metrics_secret(text: str) -> str:
    if text and (len(text) < 20 or not text.isascii() or not text.isprintable()):
        raise ValueError("expected at least 20 random ASCII characters")
    return text


def _region(text: str) -> str:
    if len(text) != 2 or not text.isascii() or not text.isalpha():
        raise ValueError("expected an ISO region such as DE")
    return text.upper()


def _time_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError("expected an IANA time zone such as Europe/Berlin") from None
    return text


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(word, strict=False) for word in _words(text))


def _networks_or_off(text: str) -> tuple[Network, ...]:
    return () if text.lower() == "off" else _networks(text)


def _rate(text: str) -> Rate | None:
    if text.lower() == "off":
        return None
    try:
        average, burst = text.split("/")
        rate = Rate(float(average), int(burst))
    except ValueError:
        raise ValueError("expected requests a second and burst, such as 300/3000, or off") from None
    if not 0 < rate.per_second < float("inf") or rate.burst < 1:
        raise ValueError("both numbers must be above zero")
    return rate


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text.lower()

    return parse


PROJECT_DIR = Path(__file__).resolve().parents[2]

DATABASE_URL = Variable(
    "DATABASE_URL",
    _database,
    "",
    "PostgreSQL 15 or newer as `postgresql://user:password@host:port/name`. Empty: an embedded PostgreSQL 18 is "
    "started in the data folder. The role must be neither superuser nor BYPASSRLS. Statements are prepared: a "
    "PgBouncer in between must be 1.21 or newer, with `max_prepared_statements`.",
    is_secret=True,
)
DATA_DIR = Variable(
    "REPOSITORY_DATA_DIR",
    _path,
    str(PROJECT_DIR / "var"),
    "Folder for the embedded database and the generated secret.",
)
POOL_SIZE = Variable("REPOSITORY_POOL_SIZE", _positive, "8", "Database connections each server process keeps at most.")
SECRET_KEY = Variable(
    "REPOSITORY_SECRET_KEY",
    _secret,
    "",
    "Signs sessions and keys the digests of API tokens; at least 50 random characters. Empty: made once and kept "
    "in the data folder, readable by the owner only.",
    is_secret=True,
)
SECRET_KEY_FALLBACKS = Variable(
    "REPOSITORY_SECRET_KEY_FALLBACKS",
    _words,
    "",
    "Earlier secret keys, separated by commas, that stay accepted while sessions and tokens move to the new one.",
    is_secret=True,
)
PUBLIC_URL = Variable(
    "REPOSITORY_PUBLIC_URL",
    _address,
    "",
    "The address clients use, such as `https://repository.example.org`. Empty: addresses in answers are built from "
    "each request's own scheme and host.",
)
ALLOWED_HOSTS = Variable(
    "REPOSITORY_ALLOWED_HOSTS",
    _words,
    "localhost,127.0.0.1,[::1]",
    "Host names the server answers to, separated by commas; the host of the public address is added.",
)
HTTPS = Variable(
    "REPOSITORY_HTTPS",
    _boolean,
    "",
    "Whether clients come over https: secure cookies, HSTS, plain http refused. Empty: yes when the public address "
    "starts with https.",
)
HSTS_SUBDOMAINS = Variable(
    "REPOSITORY_HSTS_SUBDOMAINS",
    _boolean,
    "true",
    "Whether browsers shall use https for subdomains of the public address, too.",
)
TRUSTED_PROXIES = Variable(
    "REPOSITORY_TRUSTED_PROXIES",
    _networks,
    "",
    "Addresses or networks of reverse proxies, separated by commas, whose `X-Forwarded-*` headers are believed.",
)
BODY_LIMIT = Variable("REPOSITORY_BODY_LIMIT", _positive, str(10 * 1024 * 1024), "Largest request body in bytes.")
MAX_ELEMENTS = Variable(
    "REPOSITORY_MAX_ELEMENTS", _positive, "1000", "Most elements, or content items, in one request."
)
STATEMENT_TIMEOUT = Variable(
    "REPOSITORY_STATEMENT_TIMEOUT", _positive, "15", "Seconds that one database statement of a request may take."
)
STREAM_TIMEOUT = Variable(
    "REPOSITORY_STREAM_TIMEOUT",
    _positive,
    "60",
    "Seconds after which a client that takes nothing of an answer, or no further batch of a whole list, is cut off.",
)
MAX_PAGE_SIZE = Variable("REPOSITORY_MAX_PAGE_SIZE", _positive, "1000", "Largest `$pageSize` a client may ask for.")
TOKEN_RATE = Variable(
    "REPOSITORY_TOKEN_RATE",
    _rate,
    "300/3000",
    "Requests a second and burst that one token may send to one server process, or `off`.",
)
ANONYMOUS_RATE = Variable(
    "REPOSITORY_ANONYMOUS_RATE", _rate, "100/1000", "The same for one address that sends no credential."
)
SIGN_IN_FAILURES = Variable(
    "REPOSITORY_SIGN_IN_FAILURES",
    _positive,
    "5",
    "How often signing in with one name from one address may fail within the window before more attempts wait.",
)
SIGN_IN_FAILURES_PER_ADDRESS = Variable(
    "REPOSITORY_SIGN_IN_FAILURES_PER_ADDRESS",
    _positive,
    "50",
    "The same for one address with any names; many people may share an address.",
)
SIGN_IN_WINDOW = Variable(
    "REPOSITORY_SIGN_IN_WINDOW", _positive, "15", "Minutes for which failed sign-ins count, from the first of them on."
)
PUBLIC_STORAGE_LIST = Variable(
    "REPOSITORY_PUBLIC_STORAGE_LIST",
    _boolean,
    "false",
    "Whether the landing page lists the storages that allow anonymous reading to visitors who are not signed in.",
)
LOG_LEVEL = Variable(
    "REPOSITORY_LOG_LEVEL",
    _one_of("debug", "info", "warning", "error"),
    "info",
    "Least severe level that is logged: debug, info, warning or error.",
)
LOG_FORMAT = Variable(
    "REPOSITORY_LOG_FORMAT", _one_of("json", "console"), "json", "`json` (one object a line) or `console`."
)
METRICS_NETWORKS = Variable(
    "REPOSITORY_METRICS_NETWORKS",
    _networks_or_off,
    "127.0.0.0/8,::1",
    "Addresses or networks, separated by commas, that may read `/metrics` without a secret when they connect directly, "
    "not through a proxy; or `off`.",
)
METRICS_TOKEN = Variable(
    "REPOSITORY_METRICS_TOKEN",
    _metrics_secret,
    "",
    "Whoever sends it as `Authorization: Bearer` may read `/metrics` from anywhere; at least 20 random characters.",
    is_secret=True,
)
METRICS_STORAGES = Variable(
    "REPOSITORY_METRICS_STORAGES",
    _boolean,
    "false",
    "Whether `/metrics` tells requests apart by storage, and traces name it.",
)
TRACES = Variable(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    _address,
    "",
    "Address of an OpenTelemetry collector that takes OTLP over http, such as `http://127.0.0.1:4318`. Empty: no "
    "traces. Needs `requirements-traces.txt`. Other `OTEL_*` variables count as OpenTelemetry says.",
)
REGION = Variable(
    "REPOSITORY_REGION", _region, "DE", "ISO region that the administrative contexts and new storages have by default."
)
TIME_ZONE = Variable(
    "REPOSITORY_TIME_ZONE",
    _time_zone,
    "Europe/Berlin",
    "IANA time zone that the administrative contexts and new storages have by default.",
)

VARIABLES: tuple[Variable[object], ...] = tuple(
    variable for variable in list(globals().values()) if isinstance(variable, Variable)
)


def reference() -> str:
    """The settings as a Markdown page; `docs/reference/settings.md` is this text."""
    lines = [
        "# Settings",
        "",
        "Everything is set by environment variables. This page is made from the code: `make docs`.",
        "",
        "| variable | default | meaning |",
        "|---|---|---|",
    ]
    for variable in VARIABLES:
        default = (
            "`var` in the project" if variable is DATA_DIR else f"`{variable.default}`" if variable.default else ""
        )
        lines.append(f"| `{variable.name}` | {default} | {variable.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (PROJECT_DIR / "docs/reference/settings.md").write_text(reference(), encoding="utf-8")
