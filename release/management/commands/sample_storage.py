"""`manage.py sample_storage`: create a storage with generated elements."""

from __future__ import annotations

import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress


class Command(RepositoryCommand):
    help = "Create a storage with generated processes, and the elements they refer to, to try things or to measure."
    examples = """\
  manage.py sample_storage demo sample
  manage.py sample_storage demo large 100000    takes about a minute
"""

    migrates_empty_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as demo")
        parser.add_argument("storage", help="id of the new storage, such as sample")
        parser.add_argument("count", type=int, nargs="?", default=1_000, help="number of processes (default: 1000)")
        parser.add_argument("--plain", action="store_true", help="without new versions and tasks, to measure")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        from elements.demo.sample import sample_lines
        from elements.transfer.importing import import_elements
        from elements.writing.authors import changes_at
        from release.demo.sampling import work_in_sample
        from release.demo.telling import BEFORE_STORY
        from storage.models import AnonymousAccess
        from storage.provisioning.provision import StorageRequest, provision_storage
        from storage.tenancy.contexts import storage_at

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
            with nullcontext() if options["plain"] else changes_at(timezone.now() - BEFORE_STORY):
                result = import_elements(storage_at(*address), str(path))
        seconds = time.perf_counter() - started
        self.stderr.write(
            f"{'/'.join(address)}: {result.versions:,} versions with {result.references:,} references in"
            f" {seconds:.1f} s ({result.versions / seconds:,.0f} versions a second)."
        )
        if not options["plain"]:
            number = work_in_sample(storage_at(*address), options["count"])
            self.stderr.write(f"People have changed {number} processes in the last weeks.")
        self.stderr.write(
            f"Anybody may read it. Start the server with manage.py serve, and open /{'/'.join(address)}/."
        )
