"""Write a backup: one snapshot, table by table, in constant memory."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from repository_site.core.database.routing import with_storage
from repository_site.core.database.statements import engine, fetch
from repository_site.core.problems import Invalid
from storage.backup.account_labels import read_accounts
from storage.backup.contents import (
    CONTENTS,
    STORAGE_SETTINGS,
    TOKEN_LIMITS,
    TOKEN_MOMENTS,
    Contents,
    TableContents,
    applied_migrations,
    columns_of,
    kept_models,
)
from storage.files.archiving import add_contents
from storage.models import Storage, StorageRevision, TenantModel
from storage.tenancy.scope import ModelProgress, tenant_scope


def back_up_storage(storage: Storage, path: Path, progress: ModelProgress = iter) -> Contents:
    """Write a backup. The file gets its name when it is complete, and only its owner can read it."""
    draft = path.with_name(f"{path.name}.part")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            contents = _write(storage, file, progress)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as problem:
        raise Invalid(f"{path} cannot be written: {problem.strerror or problem}.") from None
    finally:
        draft.unlink(missing_ok=True)
    return contents


def _write(storage: Storage, file: IO[bytes], progress: ModelProgress) -> Contents:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        with tenant_scope(storage, snapshot=True):
            storage = Storage.objects.select_related("collection").get(pk=storage.pk)
            contents = described(storage)
            contents.accounts.update(read_accounts())
            for model in progress(kept_models()):
                contents.tables[model._meta.db_table] = _write_table(archive, model)
            digests = [digest for (digest,) in fetch("SELECT DISTINCT digest FROM storage_storedfile ORDER BY 1")]
        # Contents never change, so they need no snapshot; a file that is removed meanwhile was not used.
        contents.missing_files.extend(add_contents(archive, storage.pk, digests))
        archive.writestr(CONTENTS, contents.as_json())
    return contents


def _write_table(archive: zipfile.ZipFile, model: type[TenantModel]) -> TableContents:
    columns = columns_of(model)
    names = ", ".join(f'"{name}"' for name in columns)
    table = model._meta.db_table
    with connection.cursor() as cursor, archive.open(table, "w", force_zip64=True) as entry:
        # The engine does not read COPY. Without the storage, all nodes of a distributed database would have to answer.
        rows_of = with_storage(f'SELECT {names} FROM "{table}" ORDER BY id', None, engine().tenant)[0]  # noqa: S608  names of the model
        sql = f"COPY ({rows_of}) TO STDOUT"
        # As in `copy_blocks`: the driver raises its own errors while it reads.
        with connection.wrap_database_errors, cursor.copy(sql) as rows:
            for block in rows:
                entry.write(block)
        return TableContents(columns, cursor.rowcount)


def described(storage: Storage) -> Contents:
    return Contents(
        made_on=timezone.now().isoformat(),
        release=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        migrations=applied_migrations(),
        collection={name: getattr(storage.collection, name) for name in ("key", "title", "description")},
        storage={
            "id": str(storage.id),
            "base": str(storage.base_id) if storage.base_id else None,
            "created_on": storage.created_on.isoformat(),
            "recorded_since": StorageRevision.objects.get(pk=storage.pk).recorded_since.isoformat(),
            **{name: getattr(storage, name) for name in ("key", *STORAGE_SETTINGS)},
        },
        cultures=[
            {name: getattr(each, name) for name in ("lcid", "position", "is_default", "is_mandatory")}
            for each in storage.cultures.all()
        ],
        tokens=[_token(each) for each in storage.tokens.all()],
        memberships=[
            {
                "account": each.account.username,
                "number": each.account_id,
                "roles": each.roles_by_hand,
                "user": str(each.user_id) if each.user_id else None,
            }
            for each in storage.memberships.select_related("account").order_by("account__username")
        ],
        tables={},
    )


def _token(token: Any) -> dict[str, Any]:
    """Return a token with its digest. The digest admits nobody, and is valid only with the same secret key."""
    return {
        "id": str(token.id),
        "digest": bytes(token.digest).hex(),
        "old_digest": bytes(token.old_digest).hex() if token.old_digest else None,
        "name": token.name,
        "roles": token.roles,
        "user_id": str(token.user_id) if token.user_id else None,
        **{name: getattr(token, name) for name in TOKEN_LIMITS},
        **{name: value.isoformat() if (value := getattr(token, name)) else None for name in TOKEN_MOMENTS},
    }
