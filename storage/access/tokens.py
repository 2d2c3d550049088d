"""Issue, recognise and revoke API tokens (D4). The repository stores digests only, never the token."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.database.statements import look_up
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Unauthenticated, placed
from repository_site.core.wording import GUID, printable
from storage.access.callers import Caller, CallerKind, find_user
from storage.access.revocations import remember
from storage.access.token_addresses import note_address
from storage.access.token_limits import TokenLimits, is_within, scope_of
from storage.events.recording import record_token
from storage.extension import storage_extensions
from storage.models import ApiToken, EventType, IdentityProvider, Storage, TokenState
from storage.models.tokens import LAST_USED_STEP
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType

NO_LIMITS = TokenLimits()
PREFIX = "crt_"
LABEL = "token:"
NAME_LENGTH = 200
# Later date-times would overflow the last year when they are shown in another time zone.
LATEST = datetime(9999, 12, 30, tzinfo=UTC)
REFUSED = "The token is unknown here, expired or revoked."
ELSEWHERE = "The token is limited to certain networks, and the address {address} does not belong to them."


@dataclass(frozen=True, slots=True)
class IssuedToken:
    token: ApiToken
    value: str


def token_digest(value: str, key: str) -> bytes:
    """Return the keyed digest of a token; a copy of the table alone does not allow guessing."""
    digest = _keyed(key).copy()
    digest.update(value.encode())
    return digest.digest()


@lru_cache
def _keyed(key: str) -> hmac.HMAC:
    """Return the digest of an empty text, to be copied: creating one takes longer than the rest."""
    return hmac.new(hashlib.sha256(b"api-token" + key.encode()).digest(), digestmod="sha256")


def new_value() -> str:
    return PREFIX + secrets.token_urlsafe(32)


@transaction.atomic
def issue_token(
    context: Context,
    name: str,
    roles: Iterable[Role],
    *,
    user_id: UUID | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    never_expires: bool = False,
    limits: TokenLimits = NO_LIMITS,
    token_id: UUID | None = None,
    provider: IdentityProvider | None = None,
) -> IssuedToken:
    """Issue a token for one context; report all problems at once. Without an end it gets the usual one (D485).

    With `token_id`, which nobody else can choose, the same request sent twice issues one token. With a provider, it is
    a SCIM token for the directory of that provider, in its collection and without roles (D541).
    """
    now = timezone.now()
    granted = [role for role in Role if role in set(roles)]
    start = valid_from or now
    stored, problems = limits.of_storage(context.storage)
    if not name.strip():
        problems.append(placed("name", _("a token needs a name.")))
    if provider is not None:
        problems += directory_problems(provider, context, granted, stored)
    elif not granted:
        problems.append(placed("roles", _("a token needs at least one of %(roles)s.") % {"roles": ", ".join(Role)}))
    if len(name) > NAME_LENGTH:
        problems.append(placed("name", _("longer than %(limit)d characters.") % {"limit": NAME_LENGTH}))
    if valid_until is not None and never_expires:
        problems.append(placed("valid until", _("a token that never expires has no end.")))
    elif not never_expires:
        valid_until = valid_until or usual_end(start)
        problems += end_problems(valid_until, max(start, now))
    if context.storage is None and granted and Role.ADMINISTRATOR not in granted:
        problems.append(placed("roles", _("a token of an administrative context needs the role administrator.")))
    if user_id is not None and (context.storage is None or find_user(context.storage, user_id) is None):
        words = {"id": user_id, "storage": context.path.strip("/")}
        problems.append(placed("user", _("there is no user %(id)s in %(storage)s.") % words))
    if problems:
        raise Invalid(_("The token cannot be issued."), problems)
    value = new_value()
    token = ApiToken(
        id=token_id or uuid4(),
        digest=token_digest(value, settings.SECRET_KEY),
        name=name.strip(),
        storage=context.storage,
        collection=context.collection if context.storage is None else None,
        roles=granted,
        user_id=user_id,
        provider=provider,
        valid_from=start,
        valid_until=valid_until,
        created_on=now,
        networks=stored.networks,
        is_read_only=stored.is_read_only,
        facets=stored.facets,
        operations=stored.operations,
    )
    _insert(token)
    mirror(token)
    record_token(token, EventType.TOKEN_CREATED)
    return IssuedToken(token, value)


def directory_problems(
    provider: IdentityProvider, context: Context, roles: list[Role], limits: TokenLimits
) -> Iterable[str]:
    if context.storage is not None or context.collection is None or context.collection.pk != provider.collection_id:
        yield placed("provider", _("a SCIM token belongs to the collection of its provider."))
    if roles:
        yield placed("roles", _("a SCIM token has no roles."))
    if limits.is_read_only or limits.facets or limits.operations:
        yield placed("operations", _("a SCIM token can be limited to networks only."))


def usual_end(start: datetime) -> datetime:
    """Return the end of a token whose issuer has named none (D485)."""
    days = timedelta(days=settings.TOKEN_DAYS)
    return min(start, LATEST - days) + days


def end_problems(end: datetime, start: datetime) -> list[str]:
    """Return the problems with the end of a token that is valid from `start` on."""
    if end > LATEST:
        text = _("is too far in the future; ask for a token that never expires instead.")
    elif end <= start:
        text = _("the end is before the start or in the past.")
    else:
        return []
    return [placed("valid until", text)]


def _insert(token: ApiToken) -> None:
    try:
        with transaction.atomic():
            token.save(force_insert=True)
    except IntegrityError:
        raise Conflict(_("This token has already been issued. Its value is shown only once.")) from None


def recognise_token(value: str, context: Context, address: str = "") -> Caller:
    """Return the caller of a token in the context that it was issued for; elsewhere the token is unknown."""
    return recognised(value, context, address)[1]


def recognised(
    value: str, context: Context, address: str = "", *, is_for_directory: bool = False
) -> tuple[ApiToken, Caller]:
    """Return a valid token and its caller. Tokens of directories are unknown to the API, and all others to SCIM (D541).

    The value before a rotation means the same caller, with the same rate limit (D147). `address` is that of the client;
    commands have none, and leave no trace in the log of addresses (D487).
    """
    now = timezone.now()
    digests = [token_digest(value, key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    token = context.token
    if token is None or not _is_one_of(token.digest, digests[:1]):
        token = _read_token(context, digests)
    if token is None or token.state(now) is not TokenState.ACTIVE:
        raise Unauthenticated(REFUSED)
    if (token.provider_id is not None) != is_for_directory:
        raise Unauthenticated(REFUSED)
    is_old = not _is_one_of(token.digest, digests)
    if is_old and not (_is_one_of(token.old_digest, digests) and token.has_valid_old_value(now)):
        raise Unauthenticated(REFUSED)
    caller = _caller_of(token, context.storage)
    if caller is None:
        raise Unauthenticated(REFUSED)
    if token.networks and not is_within(address, token.networks):
        if context.unconfirmed is None:
            note_address(token.id, address, is_refused=True)
        raise Forbidden(ELSEWHERE.format(address=printable(address, 50) or "of the client"))
    if context.unconfirmed is None:
        note_address(token.id, address)
    _note_use(token, now, digests[0], "old_" if is_old else "")
    return token, caller


def _caller_of(token: ApiToken, storage: Storage | None) -> Caller | None:
    """Return the caller of a valid token; None if the user of the token is inactive or missing."""
    roles = frozenset(Role(role) for role in token.roles)
    if token.user_id is not None:
        grant = find_user(storage, token.user_id) if storage else None
        if grant is None or grant.is_inactive:
            return None
        roles &= grant.roles
    label = f"{LABEL}{token.id}"
    return Caller(CallerKind.TOKEN, label, roles, token.user_id or token.id, label, scope_of(token))


def token_names(storage: Storage, labels: Iterable[str]) -> dict[str, str]:
    """Return the names of tokens by the label that logs show, with at most one statement."""
    ids = {id for each in labels if each.startswith(LABEL) and GUID.fullmatch(id := each.removeprefix(LABEL))}
    tokens = ApiToken.objects.filter(pk__in=ids, storage=storage) if ids else ()
    return {f"{LABEL}{each.pk}": each.name for each in tokens}


def token_of_label(label: str) -> UUID | None:
    """Return the id of the token of a caller; None for other callers."""
    return UUID(label.removeprefix(LABEL)) if label.startswith(LABEL) else None


def token_caller(storage: Storage, label: str) -> Caller | None:
    """Return the caller with a label as it is now, for work that continues after the request; None without access."""
    token = ApiToken.objects.filter(pk=label.removeprefix(LABEL), storage=storage).first()
    return _caller_of(token, storage) if token and token.state(timezone.now()) is TokenState.ACTIVE else None


def _is_one_of(kept: bytes | memoryview | None, digests: list[bytes]) -> bool:
    """Compare digests in constant time."""
    return any(hmac.compare_digest(bytes(kept or b""), digest) for digest in digests)


_TOKEN_FIELDS = [field.attname for field in ApiToken._meta.concrete_fields]
# Almost every request needs this look-up; through the ORM it would take ten times as long.
_TOKEN_SQL = (
    f"SELECT {', '.join(_TOKEN_FIELDS)} FROM storage_apitoken"  # noqa: S608  columns of the model
    " WHERE (digest IN ({digests}) OR old_digest IN ({digests}))"
    " AND storage_id IS NOT DISTINCT FROM %s::uuid AND collection_id IS NOT DISTINCT FROM %s::uuid"
)


def _read_token(context: Context, digests: list[bytes]) -> ApiToken | None:
    storage = context.storage.id if context.storage else None
    collection = context.collection.id if context.collection and storage is None else None
    sql = _TOKEN_SQL.format(digests=", ".join(["%s"] * len(digests)))
    rows = look_up(sql, [*digests, *digests, storage, collection])
    return ApiToken.from_db(connection.alias, _TOKEN_FIELDS, rows[0]) if rows else None


@transaction.atomic
def revoke_token(token: ApiToken) -> bool:
    """Revoke a token from the next request on; return False if it was already revoked."""
    now = timezone.now()
    # Also for a token that a restore has disabled: restoring the backup again must not revive it.
    remember(token, revoked_on=now)
    if not ApiToken.objects.filter(pk=token.pk, revoked_on__isnull=True).update(revoked_on=now):
        return False
    token.refresh_from_db()
    mirror(token)
    record_token(token, EventType.TOKEN_REVOKED)
    return True


def mirror(token: ApiToken) -> None:
    for extension in storage_extensions:
        if token.storage is not None and extension.mirror_token:
            extension.mirror_token(token.storage, token)


def _note_use(token: ApiToken, now: datetime, digest: bytes, which: str) -> None:
    """Record the use of the current value or, with `which`, of the old one, and move a digest of an earlier secret key
    to the current key. If the token was rotated meanwhile, the update matches no row."""
    kept, last = getattr(token, f"{which}digest"), getattr(token, f"{which}last_used_on")
    if last is None or now - last >= LAST_USED_STEP or not _is_one_of(kept, [digest]):
        found = ApiToken.objects.filter(**{"pk": token.pk, f"{which}digest": kept, f"{which}last_used_on": last})
        found.update(**{f"{which}last_used_on": now, f"{which}digest": digest})


def context_of_token(token: ApiToken) -> Context:
    if token.storage is not None:
        return Context(ContextType.STORAGE, token.storage.collection, token.storage)
    if token.collection is not None:
        return Context(ContextType.COLLECTION, token.collection)
    return Context(ContextType.SITE)


def tokens_of(context: Context) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(
        storage=context.storage, collection=context.collection if context.storage is None else None
    )


def find_token(context: Context, id_or_name: str) -> ApiToken:
    """Return a token by its id, or by a name that only one unrevoked token of the context has."""
    try:
        found = list(tokens_of(context).filter(id=UUID(id_or_name)))
    except ValueError:
        found = list(tokens_of(context).filter(name=id_or_name))
        found = [token for token in found if token.revoked_on is None] or found
    if not found:
        address = context.path.strip("/")
        command = f"manage.py list_tokens {address.replace('/', ' ')}"
        raise NotFound(f"There is no token {id_or_name!r} in {address}. List tokens: {command}")
    if len(found) > 1:
        ids = ", ".join(str(token.id) for token in found)
        raise Invalid(f"Several tokens are named {id_or_name!r}. Use one of the ids {ids}.")
    return found[0]
