"""`manage.py list_storages`: list the storages of the installation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.problems import Problem
from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.text_table import text_table
from storage.tenancy.addresses import ADMINISTRATION_KEY

if TYPE_CHECKING:
    from storage.models import Storage


class Command(RepositoryCommand):
    help = "List the storages of the installation, or of one collection, by address."
    examples = """\
  manage.py list_storages
  manage.py list_storages acme --json | jq -r '.[].tenant'
  manage.py list_storages --nodes   with the node of a Citus cluster that has the rows of each storage
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of a collection, to list only its storages")
        parser.add_argument("--json", action="store_true", help="print a JSON list, for programs")
        parser.add_argument("--nodes", action="store_true", help="add the node of the Citus cluster with its rows")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.models import Storage
        from storage.provisioning.collection_quotas import read_storage_numbers
        from storage.quotas import read_reachable_use
        from storage.tenancy.contexts import context_at

        storages = Storage.objects.select_related("collection").prefetch_related("cultures")
        if options["collection"]:
            context_at(options["collection"], ADMINISTRATION_KEY)
            storages = storages.filter(collection__key=options["collection"])
        use, away = read_reachable_use(storages)
        numbers = read_storage_numbers(storage.collection_id for storage in storages)
        rows = [
            _row(storage, None if storage.pk in away else use.get(storage.pk, {}), numbers[storage.collection_id])
            for storage in storages
        ]
        if options["nodes"]:
            nodes = _nodes()
            rows = [{**row, "node": nodes.get(row["tenant"], "")} for row in rows]
        for node in sorted({*away.values()}):
            names = ", ".join(str(storage) for storage in storages if away.get(storage.pk) == node)
            self.stderr.write(f"Node {node} does not answer. These storages are not available: {names}")
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
        elif rows:
            self.stdout.write(text_table(list(rows[0]), [[_cell(value) for value in row.values()] for row in rows]))
        else:
            self.stderr.write("There are no storages. Create one: manage.py provision_storage acme handbook")


def _row(storage: Storage, use: dict[str, int] | None, in_collection: tuple[int, int]) -> dict[str, Any]:
    """Return the columns of a storage. `use` is None if its node does not answer. `in_collection` is the number of
    storages in its collection, and the quota (D595)."""
    cultures, (used, most) = storage.culture_set(), in_collection
    return {
        "storage": str(storage),
        "tenant": str(storage.id),
        "title": storage.title,
        "template": storage.template,
        "cultures": list(cultures.data),
        "region": storage.region,
        "timeZone": storage.time_zone,
        "anonymous": storage.anonymous_access,
        "isValid": storage.is_valid,
        "quotas": {
            name: {"used": None if use is None else use.get(name, 0), "most": most} for name, most in _quotas(storage)
        },
        "collectionQuotas": {"storages": {"used": used, "most": most}},
        "pastDays": storage.past_days,
        "pastBytes": use.get("past_bytes") if use else None,
    }


def _nodes() -> dict[str, str]:
    from storage.tenancy.nodes import node_of_storages

    try:
        return {str(storage): node for storage, node in node_of_storages().items()}
    except Problem as problem:
        raise CommandError(problem.message) from None


def _quotas(storage: Storage) -> list[tuple[str, int]]:
    from storage.quotas import quota_of

    quota = quota_of(storage)
    return list(quota.most.items()) if quota else []


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return ",".join(f"{name} {_known(numbers['used'])}/{numbers['most']}" for name, numbers in value.items())
    if value is None:
        return "?"
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _known(used: int | None) -> str:
    return "?" if used is None else str(used)
