"""`manage.py add_webhook`: send the events of a storage to a receiver."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


def header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a name, a colon and a value, such as 'X-Team: docs'")
    return name.strip(), value.strip()


class Command(RepositoryCommand):
    help = (
        "Add a webhook: its receiver gets the events of a storage from now on, each as a signed POST (Standard\n"
        "Webhooks). The command prints only the secret of the signatures to stdout. Keep it: it is not shown again.\n"
        "A worker sends the messages: `serve` runs one, or `work` alone."
    )
    examples = """\
  manage.py add_webhook acme handbook https://example.org/hook
  manage.py add_webhook acme handbook https://example.org/hook --event version.released --facet processes
  SECRET=$(manage.py add_webhook acme handbook https://example.org/hook --header 'X-Team: docs' --payload element)
  manage.py add_webhook acme handbook https://example.org/hook --header-file headers.txt
  manage.py add_webhook acme handbook https://example.org/hook --user me --password-file secret.txt
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("url", help="address of the receiver, http or https")
        parser.add_argument(
            "--event", action="append", default=[], metavar="TYPE", help="type of events; repeatable; default: all"
        )
        parser.add_argument("--facet", help="only events of this facet")
        parser.add_argument("--type", help="only events of this element type")
        parser.add_argument("--state", help="only events after which this is the state")
        parser.add_argument(
            "--payload", choices=("thin", "element"), default="thin", help="send the event, or also the element"
        )
        parser.add_argument(
            "--header",
            action="append",
            default=[],
            type=header,
            metavar="TEXT",
            help="fixed header; repeatable; not for secrets, because other users of this machine can see arguments",
        )
        parser.add_argument(
            "--header-file", type=Path, metavar="FILE", help="file with fixed headers, one on each line; - for stdin"
        )
        parser.add_argument("--user", help="user name for basic authentication")
        parser.add_argument("--password-file", type=Path, metavar="FILE", help="file with its password; - for stdin")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.tenancy.contexts import storage_at
        from storage.tenancy.scope import tenant_scope
        from storage.webhooks.changing import create_webhook

        storage = storage_at(options["collection"], options["storage"])
        given: dict[str, Any] = {
            "url": options["url"],
            "events": options["event"],
            "facet": options["facet"],
            "elementType": options["type"],
            "state": options["state"],
            "payload": options["payload"],
            "headers": dict([*options["header"], *_headers(options["header_file"])]),
        }
        if options["user"] or options["password_file"]:
            given["basicAuthentication"] = {"username": options["user"], "password": _read(options["password_file"])}
        with tenant_scope(storage):
            issued = create_webhook(storage, "command", given)
        self.stderr.write(f"Webhook {issued.webhook.pk} for {storage}; its secret is not shown again:")
        self.stdout.write(issued.secret)


def _headers(file: Path | None) -> Iterator[tuple[str, str]]:
    for number, line in enumerate((_read(file) or "").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield header(line)
        except argparse.ArgumentTypeError:
            # Without the line, which may be a secret.
            raise CommandError(f"{file}, line {number}: expected a name, a colon and a value.") from None


def _read(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return (sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")).strip()
    except OSError as problem:
        raise CommandError(f"{file} cannot be read: {problem.strerror or problem}.") from None
