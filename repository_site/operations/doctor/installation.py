"""Health checks without a database: settings, secret key, data folder, versions, a running server."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import smtplib
import stat
import tempfile
import urllib.error
import urllib.request
import zlib
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

import django
from django.conf import settings

from repository_site import __version__
from repository_site.core import environment
from repository_site.core.problems import Busy
from repository_site.operations.doctor.findings import HealthFinding, Look, error, ok, warning
from repository_site.operations.doctor.growth import in_words
from storage.files.contents import INCOMING, names_in

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", re.MULTILINE)
# A random key has more; a key of words or of a pattern has less.
LEAST_BITS = 128
EMPTY_ZLIB = len(zlib.compress(b""))
# Seconds that the mail server has for each answer.
MAIL_TIMEOUT = 5
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
WIDEST = {4: 8, 6: 16}
DISK_WARNING, DISK_ERROR = (0.10, 2 * 1024**3), (0.03, 500 * 1024**2)


def versions(look: Look) -> Iterator[HealthFinding]:
    locked = dict(PIN.findall((settings.PROJECT_DIR / "requirements.txt").read_text(encoding="utf-8")))
    different = []
    for name, wanted in locked.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = "not installed"
        if found != wanted:
            different.append(f"{name} {found} instead of {wanted}")
    if different:
        yield warning(
            f"{len(different)} packages differ from requirements.txt: {', '.join(different)}",
            "Run: pip install --require-hashes -r requirements.txt, and restart the server.",
        )
    else:
        text = f"release {__version__}, Python {platform.python_version()}, Django {django.get_version()}"
        yield ok(f"{text}, {len(locked)} packages as in requirements.txt")


def settings_as_set(look: Look) -> Iterator[HealthFinding]:
    problems = [*_debug(), *_address(), *_doors()]
    yield from problems or [ok(f"debug mode is off, the public address is {settings.PUBLIC_URL}")]


def _debug() -> Iterator[HealthFinding]:
    if settings.DEBUG:
        yield error("debug mode is on: error pages show code and settings", "Set DEBUG = False.")


def _address() -> Iterator[HealthFinding]:
    parts = urlsplit(settings.PUBLIC_URL)
    if not settings.PUBLIC_URL:
        yield warning(
            "no public address is set, so addresses in responses follow each request",
            "Set REPOSITORY_PUBLIC_URL, such as https://repository.example.org.",
        )
    elif parts.scheme != "https" and parts.hostname not in LOCAL_HOSTS:
        yield warning(
            f"{settings.PUBLIC_URL} is not https: tokens and passwords can be read on the network",
            "Put a reverse proxy with TLS in front (docs/how-to/deploy.md) and set an https address.",
        )
    elif parts.scheme == "https" and not settings.HTTPS:
        yield warning(
            "the public address is https, but cookies are not secure and plain http is accepted",
            "Leave REPOSITORY_HTTPS empty or set it to true.",
        )
    elif parts.scheme == "https" and not settings.TRUSTED_PROXIES:
        yield warning(
            "no proxy is trusted, so every request through a proxy counts as plain http and is refused",
            "Set REPOSITORY_TRUSTED_PROXIES to the address from which the reverse proxy connects.",
        )


def _doors() -> Iterator[HealthFinding]:
    if "*" in settings.ALLOWED_HOSTS:
        yield warning(
            "the server accepts every host name",
            "List the hosts in REPOSITORY_ALLOWED_HOSTS; the host of the public address is always allowed.",
        )
    wide = [str(each) for each in settings.TRUSTED_PROXIES if each.prefixlen < WIDEST[each.version]]
    if wide:
        yield error(
            f"proxies are trusted in {', '.join(wide)}: every client there can claim any address",
            "List only the addresses of the proxies in REPOSITORY_TRUSTED_PROXIES.",
        )


def secret_key(look: Look) -> Iterator[HealthFinding]:
    problems = []
    bits = entropy(settings.SECRET_KEY)
    if len(settings.SECRET_KEY) < 50 or bits < LEAST_BITS:
        problems.append(
            error(
                f"weak: {len(settings.SECRET_KEY)} characters, about {bits:.0f} bits",
                "Create one (python -c 'import secrets; print(secrets.token_urlsafe(64))') and change to it as"
                " described in docs/how-to/deploy.md, 'Change secrets'.",
            )
        )
    kept = settings.DATA_DIR / "secret-key"
    if kept.exists() and kept.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        problems.append(error(f"other users can read {kept}", f"Run: chmod 600 {kept}; rotate the key."))
    if settings.SECRET_KEY_FALLBACKS:
        problems.append(
            warning(
                f"{len(settings.SECRET_KEY_FALLBACKS)} earlier keys are still accepted",
                "Remove them from REPOSITORY_SECRET_KEY_FALLBACKS once every token in use has been used again.",
            )
        )
    yield from problems
    if not problems:
        is_there = environment.SECRET_KEY.read() or kept.exists()
        text = "long and random, readable by its owner only" if is_there else "none yet; the server creates one"
        yield ok(text)


def entropy(text: str) -> float:
    """Return an upper bound of the entropy in bits, by frequency of characters and by repetition."""
    by_characters = sum(-count * math.log2(count / len(text)) for count in Counter(text).values())
    return min(by_characters, 8.0 * (len(zlib.compress(text.encode(), 9)) - EMPTY_ZLIB))


def data_folder(look: Look) -> Iterator[HealthFinding]:
    whose = "" if settings.EMBEDDED_POSTGRES is not None else " (the disk of PostgreSQL cannot be checked from here)"
    yield _folder(settings.DATA_DIR, "REPOSITORY_DATA_DIR", whose)


def files(look: Look) -> Iterator[HealthFinding]:
    """Check the folder or the bucket of uploaded files."""
    if not settings.FILES_BUCKET:
        yield _folder(settings.FILES_DIR, "REPOSITORY_FILES_DIR", "")
        return
    name = settings.FILES_BUCKET["bucket_name"]
    try:
        names_in(INCOMING)
        yield ok(f"the bucket {name} answers")
    except Busy as problem:
        yield error(
            f"the bucket {name} cannot be used: {' '.join(str(problem.__cause__).split())}",
            "Check REPOSITORY_FILES_BUCKET and the credentials (docs/how-to/deploy.md, 'Files').",
        )


def _folder(folder: Path, variable: str, whose: str) -> HealthFinding:
    """Check a folder, or its nearest existing parent: the check creates nothing."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"x")
    except OSError as problem:
        return error(
            f"{folder} cannot be written to: {problem.strerror}",
            f"Give it to the account that runs the server, or set {variable}.",
        )
    usage = shutil.disk_usage(there)
    return judge_disk(usage.free, usage.total, f"{folder}{whose}")


def judge_disk(free: int, total: int, where: str) -> HealthFinding:
    text = f"{in_words(free)} of {in_words(total)} are free on the disk of {where}"
    advice = "Free some space or enlarge the disk: PostgreSQL stops writing when it is full."
    for judge, (share, size) in ((error, DISK_ERROR), (warning, DISK_WARNING)):
        if free < min(total * share, size):
            return judge(text, advice)
    return ok(text)


def mail(look: Look) -> Iterator[HealthFinding]:
    server = settings.MAIL_SERVER
    if server is None:
        yield ok("EMAIL_URL is not set: messages are shown in the back office only")
        return
    try:
        with server.connect(MAIL_TIMEOUT):
            yield ok(f"{server} answers; mails are from {settings.DEFAULT_FROM_EMAIL}")
    except (OSError, smtplib.SMTPException) as problem:
        yield error(
            f"{server} cannot be used: {' '.join(str(problem).split()) or type(problem).__name__}",
            "Check EMAIL_URL (docs/how-to/mail.md). Mails wait until the server answers.",
        )


def server(look: Look) -> Iterator[HealthFinding]:
    if not look.url:
        return
    address = f"{look.url.rstrip('/')}/readyz"
    start = "Start it (manage.py serve), or read its log; --url must be the address that it listens on."
    if urlsplit(address).scheme not in {"http", "https"}:
        yield error(f"{look.url} is not the address of a server", "Use an address such as http://127.0.0.1:8000.")
        return
    try:
        with urllib.request.urlopen(address, timeout=15) as response:  # noqa: S310  http or https, see above
            answer = json.load(response)
    except urllib.error.HTTPError as problem:
        text = problem.read(200).decode(errors="replace")
        yield error(f"{address} returns {problem.code}: {text}", start)
    except (OSError, ValueError) as problem:
        yield error(f"{address} does not respond: {problem}", start)
    else:
        yield ok(f"{address}: {', '.join(f'{name} {state}' for name, state in answer.items())}")
