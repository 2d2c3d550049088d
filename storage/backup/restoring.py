"""Restore a storage from its backup, completely or not at all."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from repository_site.core.database.statements import fetch
from repository_site.core.problems import Conflict, Invalid, placed
from storage.access.revocations import end_revoked
from storage.access.tokens import mirror
from storage.backup.account_labels import labels_here, relabelled
from storage.backup.contents import (
    CONTENTS,
    TOKEN_LIMITS,
    TOKEN_MOMENTS,
    Contents,
    applied_migrations,
    columns_of,
    kept_models,
    newest,
)
from storage.events.numbering import begin_epoch
from storage.events.recording import record_token
from storage.extension import storage_extensions
from storage.files.archiving import take_content
from storage.files.contents import delete_content, has_content
from storage.files.texts import note_missing_texts
from storage.localisation.cultures import CultureProblem, culture_set
from storage.localisation.regions import region_info
from storage.messages.restoring import settle_messages
from storage.models import (
    ApiToken,
    Culture,
    EventType,
    StaffAccount,
    Storage,
    StorageCollection,
    StorageMembership,
    StorageRevision,
    TenantModel,
    TokenState,
)
from storage.options import Role
from storage.provisioning.provision import find_or_make_collection
from storage.provisioning.setting_checks import setting_problem
from storage.provisioning.sizes import measure_storage
from storage.quotas import quota_of
from storage.tenancy.addresses import key_problem
from storage.tenancy.bulk import ANALYSED, analyse_after_commit, copy_blocks
from storage.tenancy.dangling_references import check_references
from storage.tenancy.scope import ModelProgress, tenant_models, tenant_scope
from storage.webhooks.changing import settle_restored_webhooks

BLOCK = 1024 * 1024
MAX_CONTENTS = 16 * 1024 * 1024
# PostgreSQL collects a whole line in memory. The largest value of a row is limited to a fraction of this.
MAX_LINE = 64 * 1024 * 1024
DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, AttributeError, ValidationError,
    DataError,
)  # fmt: skip
"""Errors of a damaged file. A full disk is not among them: the file may be intact."""
DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Restored:
    storage: Storage
    rows: int
    tokens: int
    disabled: int
    """Number of tokens that were valid in the backup and are disabled now."""
    left_out: list[str]
    """Sentences about everything that could not be restored."""
    exceeding: list[str]
    """Places that exceed a limit of the installation."""


def read_contents(path: Path) -> Contents:
    with _opened(path) as archive:
        return _contents(archive, path)


def restore_storage(
    path: Path,
    address: tuple[str, str] | None = None,
    progress: ModelProgress = iter,
    *,
    with_tokens: bool = False,
    over_limits: bool = False,
    keep_contents: bool = True,
) -> Restored:
    """Restore a storage at its address and with its id, or a copy at another address.

    A copy has neither the tokens nor the memberships of the original. Tokens are disabled unless `with_tokens` is set;
    tokens that were revoked, rotated or limited after the backup stay disabled (D205). Content that exceeds a limit of
    the installation is refused, unless `over_limits` accepts it. Contents of files are only checked unless
    `keep_contents` is set.
    """
    try:
        with _opened(path) as archive, transaction.atomic():
            contents = _contents(archive, path)
            _require_same_schema(contents)
            restored = _restore(archive, contents, address, progress, with_tokens)
            if restored.exceeding and not over_limits:
                text = "The backup exceeds limits of this installation. To restore it nevertheless, use --over-limits."
                raise Invalid(text, restored.exceeding)
            restored.left_out.extend(_restore_contents(archive, restored.storage, keep=keep_contents))
            if keep_contents:
                with tenant_scope(restored.storage):
                    note_missing_texts(restored.storage)
            return restored
    except DAMAGE as problem:
        text = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise Invalid(f"{path} is damaged: {text}. Nothing was restored.") from None
    except IntegrityError as problem:
        text = str(problem).splitlines()[0]
        raise Conflict(
            f"The rows of {path} violate a constraint of the database: {text}. Nothing was restored."
        ) from None


def check_backup(path: Path, progress: ModelProgress = iter) -> Restored:
    """Restore a copy at an address that no storage can have, and roll it back."""
    key = f"check-{uuid4()}"
    with transaction.atomic():
        restored = restore_storage(path, (key, key), progress, over_limits=True, keep_contents=False)
        transaction.set_rollback(True)
    return restored


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as problem:
        raise Invalid(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except zipfile.BadZipFile:
        raise Invalid(f"{path} is not a backup of a storage, or is incomplete.") from None


def _contents(archive: zipfile.ZipFile, path: Path) -> Contents:
    try:
        with archive.open(CONTENTS) as entry:
            text = entry.read(MAX_CONTENTS + 1)
    except KeyError:
        raise Invalid(f"{path} is not a backup of a storage: {CONTENTS} is missing.") from None
    if len(text) > MAX_CONTENTS:
        raise Invalid(f"{path} is not a backup of a storage: {CONTENTS} has more than {MAX_CONTENTS:,} bytes.")
    return Contents.from_json(text)


def _require_same_schema(contents: Contents) -> None:
    here = applied_migrations()
    if contents.migrations != here:
        raise Invalid(
            f"The backup is from release {contents.release} with the migrations {newest(contents.migrations)}; this"
            f" database has {newest(here)}. Restore it into an empty database with the release that wrote it, and"
            " upgrade that database."
        )
    tables = {model._meta.db_table: columns_of(model) for model in kept_models()}
    if tables != {name: table.columns for name, table in contents.tables.items()}:
        raise Invalid(
            "The tables in the backup differ from those of this release, although the migrations are the same."
        )


def _restore(
    archive: zipfile.ZipFile,
    contents: Contents,
    address: tuple[str, str] | None,
    progress: ModelProgress,
    with_tokens: bool,
) -> Restored:
    storage, left_out = _make_storage(contents, address)
    with tenant_scope(storage):
        labels = labels_here(contents.accounts)
        rows = sum(_restore_table(archive, model, contents, labels) for model in progress(kept_models()))
        # Cursors of the storage that was backed up do not fit: it may have had further events (D327).
        begin_epoch()
        settle_restored_webhooks(storage, is_copy=address is not None)
        # Check now: a violation can still be reported, and a trial run checks the keys as well.
        check_references()
        _update_statistics(contents)
        exceeding = [text for each in storage_extensions if each.over_limits for text in each.over_limits()]
    if quota_of(storage) is not None:
        measure_storage(storage)
    tokens = _tokens(contents, storage)
    users = [_user_of(each) for each in contents.memberships]
    if address is not None:
        with tenant_scope(storage):
            settle_messages({})
        return Restored(storage, rows, 0, 0, left_out, exceeding)
    disabled = _restore_tokens(tokens, with_tokens)
    left_out += _restore_memberships(storage, contents, users)
    with tenant_scope(storage):
        settle_messages(_account_numbers(contents))
    return Restored(storage, rows, len(tokens), disabled, left_out, exceeding)


def _update_statistics(contents: Contents) -> None:
    """Update the statistics of large tables, and of those that triggers fill from them."""
    sizes = {model: contents.tables[model._meta.db_table].rows for model in kept_models()}
    if max(sizes.values()) >= ANALYSED:
        analyse_after_commit(model for model in tenant_models() if sizes.get(model, ANALYSED) >= ANALYSED)


def _make_storage(contents: Contents, address: tuple[str, str] | None) -> tuple[Storage, list[str]]:
    collection_key, key = address or (contents.collection["key"], contents.storage["key"])
    if problems := [*_address_problems(collection_key, key), *_value_problems(contents)]:
        raise Invalid("The storage cannot be restored.", problems)
    left_out = []
    base = UUID(contents.storage["base"]) if contents.storage["base"] else None
    if base is not None and not Storage.objects.filter(pk=base).exists():
        left_out.append(f"The base storage {base} does not exist here; the storage is restored without it.")
        base = None
    collection = _collection(collection_key, contents)
    storage = Storage(
        id=uuid4() if address else UUID(contents.storage["id"]),
        collection=collection,
        base_id=base,
        **{**contents.storage_settings(), "region": region_info(contents.storage["region"])["name"]},
        key=key,
    )
    try:
        with transaction.atomic():
            storage.save(force_insert=True)
    except IntegrityError:
        raise Conflict(
            f"A storage {storage}, or one with the id {storage.id}, already exists. Remove it first"
            " (manage.py remove_storage), or restore a copy at another address (--as COLLECTION STORAGE)."
        ) from None
    Storage.objects.filter(pk=storage.pk).update(created_on=_moment(contents.storage["created_on"]))
    # A past row may be as old as the record (D563).
    recorded_since = _moment(contents.storage["recorded_since"])
    StorageRevision.objects.filter(pk=storage.pk).update(recorded_since=recorded_since)
    Culture.objects.bulk_create(Culture(storage=storage, **each) for each in contents.cultures)
    return storage, left_out


def _address_problems(collection_key: str, key: str) -> Iterator[str]:
    for place, given in (("collection", collection_key), ("storage", key)):
        if problem := setting_problem(place, given):
            yield problem
        elif text := key_problem(given, place):
            yield placed(place, text)


def _value_problems(contents: Contents) -> Iterator[str]:
    """Yield the problems that provisioning would report as well. A backup can come from anywhere, and invalid settings
    would otherwise fail only in later requests."""
    for name, value in contents.storage_settings().items():
        if problem := setting_problem(name, value):
            yield problem
    for name in ("title", "description"):
        if problem := setting_problem(name, contents.collection[name]):
            yield f"collection {problem}"
    cultures = sorted(contents.cultures, key=lambda each: int(each["position"]))
    defaults = [each["lcid"] for each in cultures if each["is_default"]]
    if len(defaults) != 1:
        yield placed("cultures", f"exactly one must be the default, not {len(defaults)}")
    else:
        mandatory = [each["lcid"] for each in cultures if each["is_mandatory"]]
        try:
            culture_set([each["lcid"] for each in cultures], defaults[0], mandatory)
        except CultureProblem as problem:
            yield placed("cultures", str(problem))
    for place, held in (("tokens", contents.tokens), ("memberships", contents.memberships)):
        for index, each in enumerate(held):
            if unknown := [role for role in each["roles"] if role not in set(Role)]:
                yield placed(f"{place}[{index}]", f"unknown roles: {', '.join(map(str, unknown))}")


def _collection(key: str, contents: Contents) -> StorageCollection:
    """Return the collection; a new one takes title and description from the backup."""
    is_new = not StorageCollection.objects.filter(key=key).exists()
    collection = find_or_make_collection(key)
    if is_new and key == contents.collection["key"]:
        collection.title, collection.description = contents.collection["title"], contents.collection["description"]
        collection.save(update_fields=["title", "description"])
    return collection


def _restore_table(
    archive: zipfile.ZipFile, model: type[TenantModel], contents: Contents, labels: Mapping[bytes, bytes]
) -> int:
    table, columns = model._meta.db_table, columns_of(model)
    with archive.open(table) as entry:
        found = copy_blocks(model, columns, relabelled(model, columns, _blocks(entry, table), labels))
    if found != contents.tables[table].rows:
        raise Invalid(f"The backup has {found} rows of {table}; expected {contents.tables[table].rows}.")
    return found


def _blocks(entry: IO[bytes], table: str) -> Iterator[bytes]:
    """Return the rows of a table in blocks, and refuse a file that expands to endless lines."""
    length = 0
    while block := entry.read(BLOCK):
        last = block.rfind(b"\n")
        length = length + len(block) if last < 0 else len(block) - last - 1
        if length > MAX_LINE:
            raise Invalid(f"A row of {table} is longer than {MAX_LINE:,} bytes.")
        yield block


def _restore_contents(archive: zipfile.ZipFile, storage: Storage, *, keep: bool) -> Iterator[str]:
    """Store the contents of files. If one of them is damaged, nothing is restored: remove the new contents again, but
    not those that were there before."""
    with tenant_scope(storage):
        found = fetch("SELECT f.digest, max(f.size) FROM storage_storedfile f GROUP BY f.digest ORDER BY 1")
    new, missing = [], 0
    try:
        for digest, size in found:
            is_there = has_content(storage.pk, digest)
            if take_content(archive, storage.pk, digest, size, keep=keep):
                new += [digest] if keep and not is_there else []
            else:
                missing += not is_there
    except BaseException:
        for digest in new:
            delete_content(storage.pk, digest)
        raise
    if missing:
        yield f"The backup does not have the contents of {missing} files; upload them again."


def _restore_tokens(tokens: list[ApiToken], with_tokens: bool) -> int:
    """Store the tokens, with their elements up to date; return how many were active in the backup and are disabled."""
    now = timezone.now()
    active = [each for each in tokens if each.state(now) in (TokenState.ACTIVE, TokenState.NOT_YET_VALID)]
    ended = end_revoked(active)
    if not with_tokens:
        for token in active:
            token.revoked_on = token.revoked_on or now
        ended = active
    ApiToken.objects.bulk_create(tokens)
    for token in ended:
        mirror(token)
        record_token(token, EventType.TOKEN_REVOKED)
    return len(ended)


def _tokens(contents: Contents, storage: Storage) -> list[ApiToken]:
    tokens = [_token(each, storage) for each in contents.tokens]
    for name in ("id", "digest", "old_digest"):
        given = [value for each in tokens if (value := getattr(each, name)) is not None]
        if len(set(given)) < len(given):
            raise ValueError("a token occurs twice")
    return tokens


def _token(kept: dict[str, Any], storage: Storage) -> ApiToken:
    token = ApiToken(
        id=UUID(kept["id"]),
        digest=_digest(kept["digest"]),
        old_digest=_digest(kept["old_digest"]) if kept["old_digest"] else None,
        name=kept["name"],
        roles=kept["roles"],
        user_id=UUID(kept["user_id"]) if kept["user_id"] else None,
        storage=storage,
        **{name: kept[name] for name in TOKEN_LIMITS},
        **{name: _moment(kept[name]) if kept[name] else None for name in TOKEN_MOMENTS},
    )
    for field in ApiToken._meta.concrete_fields:
        if field.name in ("name", "valid_from", "created_on", *TOKEN_LIMITS):
            field.clean(getattr(token, field.name), token)
    return token


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment


def _digest(text: str) -> bytes:
    digest = bytes.fromhex(text)
    if len(digest) != DIGEST_BYTES:
        raise ValueError(f"{text[:20]!r} is not the digest of a token")
    return digest


def _user_of(membership: dict[str, Any]) -> UUID | None:
    return UUID(membership["user"]) if membership["user"] else None


def _account_numbers(contents: Contents) -> dict[int, int]:
    """Return the numbers of accounts here by those in the backup; the same name means the same account."""
    names = {each["account"]: each["number"] for each in contents.memberships if isinstance(each.get("number"), int)}
    found = StaffAccount.objects.filter(username__in=names)
    return {names[each.username]: each.pk for each in found}


def _restore_memberships(storage: Storage, contents: Contents, users: list[UUID | None]) -> list[str]:
    """Restore memberships; return a sentence for each account that this installation does not have."""
    accounts = {each.username: each for each in StaffAccount.objects.filter(
        username__in=[each["account"] for each in contents.memberships]
    )}  # fmt: skip
    left_out = []
    for each, user in zip(contents.memberships, users, strict=True):
        if not each["roles"]:
            # Rules had granted the roles, and do so again at the next sign-in (D504).
            continue
        if account := accounts.get(each["account"]):
            StorageMembership.objects.create(account=account, storage=storage, roles=each["roles"], user_id=user)
        else:
            left_out.append(
                f"The account {each['account']!r} does not exist here; it had the roles {', '.join(each['roles'])}."
            )
    return left_out
