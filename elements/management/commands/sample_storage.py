"""`manage.py sample_storage`: a storage full of generated elements."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from elements.sample import sample_lines
from elements.transfer.importing import import_elements
from repository_site.core.command_line import RepositoryCommand
from repository_site.core.progress import with_progress
from storage.models import AnonymousAccess
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.contexts import storage_at


class Command(RepositoryCommand):
    help = "Make a storage with generated processes (and what they refer to), for trying and measuring."
    examples = """\
  manage.py sample_storage demo sample 10000
"""

    migrates_empty_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the new storage")
        parser.add_argument("count", type=int, help="how many processes")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        address = (options["collection"], options["storage"])
        provision_storage(
            StorageRequest(collection=address[0], key=address[1], title="Sample", anonymous=AnonymousAccess.READ)
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sample.ndjson"
            with path.open("wb") as file:
                for line in with_progress(sample_lines(options["count"]), "Generating", options["count"]):
                    file.write(line)
            started = time.perf_counter()
            result = import_elements(storage_at(*address), str(path))
        seconds = time.perf_counter() - started
        self.stderr.write(
            f"{'/'.join(address)}: {result.versions:,} versions with {result.references:,} references in"
            f" {seconds:.1f} s ({result.versions / seconds:,.0f} versions a second)."
        )
