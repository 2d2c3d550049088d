"""Health check of the rows that say which permission sets apply to elements (D523)."""

from __future__ import annotations

from collections.abc import Iterator

from elements.permission_sets.inheritance import rebuild_inherited
from facets.models import PermissionSet
from repository_site.operations.doctor.findings import HealthFinding, Look, error, ok
from storage.models import Storage
from storage.tenancy.scope import tenant_scope


def inherited_sets(look: Look) -> Iterator[HealthFinding]:
    limited, wrong = 0, list[str]()
    for storage in Storage.objects.select_related("collection").order_by("collection__key", "key"):
        with tenant_scope(storage):
            if PermissionSet.objects.exists():
                limited += 1
                if count := rebuild_inherited(dry_run=True):
                    wrong.append(f"{storage}: {count:,}" if look.names else f"{count:,}")
    if wrong:
        text = f"rows that say which permission sets apply to elements are wrong: {' | '.join(wrong)}"
        yield error(text, "Run: manage.py rebuild_permissions. Until then, people may see too much or too little.")
    else:
        yield ok(f"storages with permission sets: {limited}; they apply to the right elements")
