"""Values of environment variables, parsed from their texts. A `ValueError` says what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Rate:
    """A token bucket: `per_second` requests on average, bursts of up to `burst`."""

    per_second: float
    burst: int


def words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def boolean(text: str) -> bool | None:
    if text == "":
        return None
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("expected true or false")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("expected a whole number, 1 or more")
    return int(text)


def days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3650:
        raise ValueError("expected a number of days, 1 to 3650")
    return int(text)


def number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("expected a whole number, 0 or more")
    return int(text)


def path(text: str) -> Path:
    return Path(text).expanduser()


def address(text: str) -> str:
    if text == "":
        return ""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise ValueError("expected an address such as https://repository.example.org")
    return text.rstrip("/")


def bucket(text: str) -> dict[str, str]:
    """Return the options of a bucket that speaks the protocol of S3; nothing for an empty text."""
    if text == "":
        return {}
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme != "s3" or not parts.netloc or query.keys() - {"endpoint", "region"} or parts.fragment:
        raise ValueError("expected s3://bucket/folder?endpoint=https://s3.example.org&region=eu-central-1")
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ValueError("a bucket needs the packages of requirements-s3.txt; install them")
    options = {"bucket_name": parts.netloc, "location": parts.path.strip("/")}
    names = {"endpoint": "endpoint_url", "region": "region_name"}
    return options | {names[name]: value for name, value in query.items()}


def database(text: str) -> dict[str, str]:
    """Return the parts of a PostgreSQL address by their libpq names; nothing for an empty text."""
    if text == "":
        return {}
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("expected an address such as postgresql://user:password@host:5432/name")
    from psycopg import ProgrammingError  # takes 100 ms, which `COMMAND --help` need not wait for
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except ProgrammingError as problem:
        raise ValueError(str(problem).strip().splitlines()[0]) from None
    if not parts.get("dbname"):
        raise ValueError("the address must end with the name of the database")
    return parts


def secret(text: str) -> str:
    if text and len(text) < 50:
        raise ValueError("expected at least 50 random characters")
    return text


def metrics_secret(text: str) -> str:
    if text and (len(text) < 20 or not text.isascii() or not text.isprintable()):
        raise ValueError("expected at least 20 random ASCII characters")
    return text


# Names of the parts of an identity provider, and their types.
_PROVIDER_PARTS: dict[str, type] = {
    "id": str,
    "name": str,
    "issuer": str,
    "clientId": str,
    "clientSecret": str,
    "collection": str,
    "scopes": str,
    "mailDomains": list,
    "refusesPasswords": bool,
    "verifiesAddresses": bool,
    "acceptsTokens": bool,
    "audience": str,
}
_NEEDED_PARTS = ("id", "name", "issuer", "clientId")


def sign_on_providers(text: str) -> tuple[dict[str, Any], ...]:
    """Return identity providers. Problems name no value: it could be the secret."""
    if text == "":
        return ()
    try:
        found = json.loads(text)
    except ValueError:
        raise ValueError("expected a JSON list of objects") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError("expected a JSON list of objects")
    for place, each in enumerate(found, start=1):
        for name, value in each.items():
            if name not in _PROVIDER_PARTS:
                raise ValueError(f"provider {place}: unknown part {name!r}")
            if not isinstance(value, _PROVIDER_PARTS[name]):
                raise ValueError(f"provider {place}: {name} has a wrong type")
            if isinstance(value, list) and not all(isinstance(item, str) for item in value):
                raise ValueError(f"provider {place}: {name} has a wrong type")
        if missing := [name for name in _NEEDED_PARTS if not each.get(name)]:
            raise ValueError(f"provider {place}: {missing[0]} is missing")
    return tuple(found)


def region(text: str) -> str:
    if len(text) != 2 or not text.isascii() or not text.isalpha():
        raise ValueError("expected an ISO region such as DE")
    return text.upper()


def time_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError("expected an IANA time zone such as Europe/Berlin") from None
    return text


def networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(word, strict=False) for word in words(text))


def networks_or_off(text: str) -> tuple[Network, ...]:
    return () if text.lower() == "off" else networks(text)


def rate(text: str) -> Rate | None:
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


def budget(text: str) -> Rate | None:
    try:
        return rate(text)
    except ValueError:
        raise ValueError(
            "expected seconds of work per second and a burst in whole seconds, such as 0.5/5, or off"
        ) from None


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text.lower()

    return parse
