"""Providers that the environment defines (D501). The server stores them when it starts, without rules."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from repository_site.core.problems import Invalid, placed
from storage.models import IdentityProvider, StorageCollection
from storage.single_sign_on.provider_sessions import end_sessions
from storage.single_sign_on.providers import save_provider, take_turn

# Names in the environment, and the fields that they set.
NAMES = {
    "id": "key",
    "name": "name",
    "issuer": "issuer",
    "clientId": "client_id",
    "scopes": "scopes",
    "mailDomains": "mail_domains",
    "refusesPasswords": "refuses_passwords",
    "verifiesAddresses": "verifies_addresses",
    "acceptsTokens": "accepts_tokens",
    "audience": "audience",
}


@transaction.atomic
def adopt_configured_providers() -> None:
    """Store the providers of the environment, and disable those that it no longer has. Keeps their rules and people.

    A provider gives up its domains when it is disabled, and all do before domains are assigned again: the order of the
    list does not matter.
    """
    take_turn()
    keys = [str(each["id"]) for each in settings.SIGN_ON_PROVIDERS]
    gone = IdentityProvider.objects.filter(is_from_settings=True, is_enabled=True).exclude(key__in=keys)
    for provider in gone:
        provider.is_enabled = False
        provider.save(update_fields=["is_enabled"])
        end_sessions(provider)
    IdentityProvider.objects.filter(is_from_settings=True).update(mail_domains=[])
    for given in settings.SIGN_ON_PROVIDERS:
        try:
            _adopt(given)
        except Invalid as problem:
            texts = " ".join(problem.details)
            raise Invalid(f"REPOSITORY_SIGN_ON_PROVIDERS, {given['id']}: {texts}") from None


def _adopt(given: dict[str, Any]) -> None:
    provider = IdentityProvider.objects.filter(key=given["id"]).first() or IdentityProvider()
    if provider.key and not provider.is_from_settings:
        raise Invalid(_("The provider is not valid."), [placed("id", _("another provider has this id."))])
    fields = {"collection": _collection(given), "is_from_settings": True, "is_enabled": True}
    # A part that was removed must not keep its former value.
    fields |= {field: given.get(name, _default(field)) for name, field in NAMES.items()}
    save_provider(provider, fields, given.get("clientSecret", ""))


def _default(field: str) -> Any:
    return IdentityProvider._meta.get_field(field).get_default()  # type: ignore[union-attr]  # a column


def _collection(given: dict[str, Any]) -> StorageCollection | None:
    if not (key := given.get("collection")):
        return None
    found = StorageCollection.objects.filter(key=key).first()
    if found is None:
        raise Invalid(_("The provider is not valid."), [placed("collection", _("there is no such collection."))])
    return found
