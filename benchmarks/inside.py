"""What has to be done inside the service, by a process of its own in the environment of an installation:
`python -m benchmarks.inside attributes 1000` and `python -m benchmarks.inside tokens file`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import django
import orjson

STAMPS = {"changedOn", "createdOn", "relOn", "validFrom", "validUntil", "version"}
"""These are columns of a version; what is left is what is stored as its attributes."""


def print_attributes(count: int) -> None:
    """Of the first processes, as the generator of today makes them."""
    from elements.sample import sample_lines

    lines = (orjson.loads(line) for line in sample_lines(count))
    found = [
        {name: values for name, values in line["attributes"].items() if name not in STAMPS}
        for line in lines
        if line["facetName"] == "processes"
    ]
    sys.stdout.buffer.write(orjson.dumps(found))


def write_tokens(file: Path) -> None:
    """One for each storage, in one process: a command each would take a second each. Those in the file are kept. They
    stand under the ids of storages: a key may come to mean another storage."""
    from storage.access.tokens import issue_token
    from storage.models import Storage
    from storage.models.roles import Role
    from storage.tenancy.contexts import Context, ContextType

    tokens: dict[str, str] = orjson.loads(file.read_bytes()) if file.exists() else {}
    for storage in Storage.objects.select_related("collection").exclude(id__in=tokens):
        context = Context(ContextType.STORAGE, storage.collection, storage)
        tokens[str(storage.id)] = issue_token(context, "benchmark", [Role.ADMINISTRATOR]).value
    unfinished = file.with_suffix(".unfinished")
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(orjson.dumps(tokens))
    unfinished.replace(file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("attributes").add_argument("count", type=int)
    commands.add_parser("tokens").add_argument("file", type=Path)
    options = parser.parse_args()
    django.setup()
    if options.command == "tokens":
        write_tokens(options.file)
    else:
        print_attributes(options.count)
