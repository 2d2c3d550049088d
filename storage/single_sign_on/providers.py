"""Providers: finding them, checking and storing their settings, removing them (D501)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _

from repository_site.core.outgoing import check_address
from repository_site.core.problems import Forbidden, Invalid, placed
from repository_site.core.sealing import seal
from storage.models import AccessRule, IdentityProvider, RuleComparison, Storage, StorageMembership
from storage.options import Role
from storage.single_sign_on.outgoing_requests import ProviderFailed, forget_providers, read_metadata
from storage.single_sign_on.provider_sessions import end_sessions
from storage.single_sign_on.rules import MOST_RULES
from storage.tenancy.addresses import SCIM_KEY, public_base

PURPOSE = "identity providers"
KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}")
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
MOST_DOMAINS = 100
NO_STORAGE = UUID(int=0)
"""The storage of a rule for which nobody has chosen one."""


def provider_with(id_or_key: str) -> IdentityProvider | None:
    """Return an enabled provider by its id or its key."""
    try:
        wanted = Q(pk=UUID(id_or_key))
    except ValueError:
        wanted = Q(key=id_or_key)
    return IdentityProvider.objects.filter(wanted, is_enabled=True).first()


def hold_provider(provider: IdentityProvider) -> None:
    """Let nobody disable or remove a provider before the transaction ends; raise Forbidden if somebody has done so."""
    if not IdentityProvider.objects.select_for_update(no_key=True).filter(pk=provider.pk, is_enabled=True).first():
        raise Forbidden(_("This provider has been disabled."))


def offered_providers(collection_id: UUID | None) -> list[IdentityProvider]:
    """Return the providers for a sign-in page: those of the installation and, in a storage, of its collection."""
    wanted = Q(collection=None) | (Q(collection=collection_id) if collection_id else Q(pk=None))
    return list(IdentityProvider.objects.filter(wanted, is_enabled=True).order_by("name", "key"))


def callback_address(request: HttpRequest, provider: IdentityProvider) -> str:
    return f"{public_base(request)}/admin/sso/{provider.key}/callback/"


def back_channel_address(request: HttpRequest, provider: IdentityProvider) -> str:
    return f"{public_base(request)}/admin/sso/{provider.key}/back-channel/"


def scim_address(request: HttpRequest, provider: IdentityProvider) -> str:
    """Return the address that the directory of a provider uses (D540); empty for a provider of the installation."""
    return f"{public_base(request)}/{provider.collection.key}/{SCIM_KEY}/v2" if provider.collection else ""


def refuses_password(address: str) -> IdentityProvider | None:
    """Return the provider that has switched off passwords for the domain of an address (D506)."""
    domain = address.rpartition("@")[2].lower()
    found = IdentityProvider.objects.filter(refuses_passwords=True, is_enabled=True, mail_domains__contains=[domain])
    return found.first() if domain else None


@transaction.atomic
def save_provider(provider: IdentityProvider, given: Mapping[str, Any], secret: str | None = None) -> IdentityProvider:
    """Store the fields of a provider, new or changed; raise Invalid with all problems. An empty `secret` removes the
    stored one, None keeps it.

    Subjects are those of an issuer, and with some providers of a client. Another one knows other people by the same
    names, so they are forgotten: people are found by their verified addresses again (D502).
    """
    take_turn()
    before = IdentityProvider.objects.filter(pk=provider.pk).first()
    for name, value in given.items():
        setattr(provider, name, value)
    provider.mail_domains = sorted({each.strip().lower() for each in provider.mail_domains if each.strip()})
    provider.scopes = " ".join(dict.fromkeys(["openid", *provider.scopes.split()]))
    if problems := list(_problems(provider)):
        raise Invalid(_("The provider is not valid."), problems)
    if secret is not None:
        provider.secret = seal(secret, PURPOSE) if secret else ""
    provider.save()
    is_another = before is not None and (before.issuer, before.client_id) != (provider.issuer, provider.client_id)
    if is_another:
        _forget_subjects(provider)
    if is_another or not provider.is_enabled:
        end_sessions(provider)
    if provider.collection_id is not None:
        # Rules for storages elsewhere would do nothing, and would come back with the next change.
        AccessRule.objects.filter(provider=provider).exclude(storage__collection=provider.collection_id).delete()
    transaction.on_commit(forget_providers)
    return provider


def take_turn() -> None:
    """Let providers be saved one after the other: two must not get the same domain."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('identity providers', 0))")


def _forget_subjects(provider: IdentityProvider) -> None:
    from allauth.socialaccount.models import SocialAccount

    SocialAccount.objects.filter(provider=str(provider.pk)).delete()


def _problems(provider: IdentityProvider) -> Iterable[str]:
    if not KEY.fullmatch(provider.key):
        yield placed("id", _("expected up to 40 lowercase letters, digits and hyphens."))
    elif IdentityProvider.objects.filter(key=provider.key).exclude(pk=provider.pk).exists():
        yield placed("id", _("another provider has this id."))
    if not provider.name.strip():
        yield placed("name", _("a provider needs a name."))
    if not provider.client_id.strip():
        yield placed("client id", _("a provider needs a client id."))
    if not all(SCOPE.fullmatch(each) for each in provider.scopes.split()):
        yield placed("scopes", _("expected names that are separated by spaces."))
    yield from _domain_problems(provider)
    if provider.accepts_tokens and not provider.audience.strip():
        yield placed("audience", _("access tokens need an audience, so that those for other services are refused."))
    if problem := _issuer_problem(provider):
        yield placed("issuer", problem)


def _domain_problems(provider: IdentityProvider) -> Iterable[str]:
    domains = provider.mail_domains
    if len(domains) > MOST_DOMAINS:
        yield placed("mail domains", _("at most %d are possible.") % MOST_DOMAINS)
        return
    for each in domains:
        if len(each) > 253 or not DOMAIN.fullmatch(each):
            yield placed("mail domains", _("expected domains such as example.org."))
            return
    # Otherwise one collection could sign in people of another.
    others = IdentityProvider.objects.filter(mail_domains__overlap=domains).exclude(pk=provider.pk)
    if domains and (other := others.first()):
        yield placed("mail domains", _("%s already has one of these domains.") % other)
    if not domains and provider.collection_id is not None:
        yield placed("mail domains", _("the provider of a collection signs in people of assigned domains only."))
    if not domains and (provider.refuses_passwords or provider.verifies_addresses):
        yield placed("mail domains", _("these options need a list of domains."))


def _issuer_problem(provider: IdentityProvider) -> str:
    """Return why an issuer cannot be used. The stored one is not asked again: it may be away for a moment."""
    stored = IdentityProvider.objects.filter(pk=provider.pk, issuer=provider.issuer).exists()
    if stored or provider.is_from_settings:
        return ""
    if not provider.issuer.startswith("https://") and not settings.WEBHOOK_NETWORKS:
        return _("expected an address that begins with https://.")
    if "?" in provider.issuer:
        return _("expected an address without a query (?).")
    if problem := check_address(provider.issuer):
        return problem
    try:
        read_metadata(provider.issuer)
    except ProviderFailed as failed:
        return str(failed)
    return ""


@transaction.atomic
def remove_provider(provider: IdentityProvider) -> None:
    """Remove a provider with the roles that it has granted, the subjects of its people and their sessions."""
    # People who are signing in wait, and are refused then.
    IdentityProvider.objects.select_for_update().get(pk=provider.pk)
    end_sessions(provider)
    origin = str(provider.pk)
    for membership in StorageMembership.objects.select_for_update().filter(origins__has_key=origin):
        membership.set_roles(origin, ())
        if membership.roles:
            membership.save(update_fields=["roles", "origins"])
        else:
            membership.delete()
    _forget_subjects(provider)
    provider.delete()
    transaction.on_commit(forget_providers)


def rule_problems(
    provider: IdentityProvider, rules: Sequence[AccessRule], collection_of: Mapping[UUID, UUID]
) -> list[str]:
    """Return what is wrong with the rules of a provider; `collection_of` has the collections of all storages."""
    problems = []
    if len(rules) > MOST_RULES:
        problems.append(_("A provider has at most %d rules.") % MOST_RULES)
    for place, rule in enumerate(rules[:MOST_RULES], start=1):
        number = _("Rule %d") % place
        if not rule.claim.strip():
            problems.append(placed(number, _("a rule needs a claim, such as groups.")))
        if rule.comparison not in RuleComparison.values:
            problems.append(placed(number, _("unknown comparison.")))
        if rule.comparison != RuleComparison.ANY and not rule.value:
            problems.append(placed(number, _("a text to compare with is missing.")))
        if not set(rule.roles) <= set(Role) or not list(rule.roles):
            problems.append(placed(number, _("a rule needs at least one role.")))
        if rule.storage_id == NO_STORAGE:
            problems.append(placed(number, _("a rule needs a storage.")))
        elif rule.storage_id not in collection_of:
            problems.append(placed(number, _("there is no such storage.")))
        elif provider.collection_id not in (None, collection_of[rule.storage_id]):
            problems.append(placed(number, _("the storage is in another collection than the provider.")))
        if bool(rule.user_claim) != bool(rule.user_attribute):
            problems.append(placed(number, _("a user element is found by a claim and an attribute; one is missing.")))
    return problems


@transaction.atomic
def save_rules(provider: IdentityProvider, rules: Sequence[AccessRule]) -> None:
    """Replace the rules of a provider. They take effect at the next sign-in, and for access tokens at once."""
    collection_of = dict(Storage.objects.values_list("pk", "collection_id"))
    if problems := rule_problems(provider, rules, collection_of):
        raise Invalid(_("The rules are not valid."), problems)
    IdentityProvider.objects.select_for_update().get(pk=provider.pk)
    AccessRule.objects.filter(provider=provider).delete()
    for place, rule in enumerate(rules):
        rule.pk, rule.provider, rule.position = None, provider, place
    AccessRule.objects.bulk_create(rules)
