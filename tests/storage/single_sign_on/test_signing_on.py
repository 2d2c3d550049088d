"""Signing in at a provider (D500 to D504): accounts, memberships, domains, passwords."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from repository_site.core.problems import Forbidden, Invalid
from storage.backup.writing import described
from storage.models import AccessRule, IdentityProvider, ProviderSession, StaffAccount, Storage, StorageMembership
from storage.single_sign_on.linking import person_of, sign_on
from storage.single_sign_on.providers import remove_provider, save_provider
from tests.factories import StaffAccountFactory, StorageFactory
from tests.identity_provider import JO, TestedProvider, configured, rule, sent_to_provider, sign_in
from tests.scale import first_quick
from tests.storage.office import site_administrator

pytestmark = pytest.mark.django_db
OFFICE = "/acme/handbook/admin/"


def text_of(response: Any) -> str:
    return str(response.content.decode())


def account_in(client: Client) -> StaffAccount | None:
    number = client.session.get("_auth_user_id")
    return StaffAccount.objects.get(pk=number) if number else None


def roles_of(account: StaffAccount) -> dict[str, list[str]]:
    return {str(each.storage): each.roles for each in account.memberships.select_related("storage__collection")}


def test_a_new_employee_signs_in_and_loses_everything_again(
    here: IdentityProvider, there: TestedProvider, storage: Storage
) -> None:
    client = Client()
    page = text_of(client.get(f"{OFFICE}login/"))
    assert "Sign in with Acme ID" in page
    assert f"/admin/sso/acme/?next={OFFICE.replace('/', '%2F')}" in page
    assert "Acme ID" not in text_of(client.get("/rival/handbook/admin/login/"))
    assert "Acme ID" not in text_of(client.get("/admin/login/"))
    back = sign_in(client, there, next_address=OFFICE)
    assert (back.status_code, back["Location"]) == (302, OFFICE)
    jo = account_in(client)
    assert jo is not None
    assert (jo.username, jo.email, jo.get_full_name(), jo.is_superuser) == (JO["email"], JO["email"], "Jo Doe", False)
    assert not jo.has_usable_password()
    assert roles_of(jo) == {"acme/handbook": ["editor"]}
    assert client.get(OFFICE).status_code == 200
    linked = SocialAccount.objects.get()
    assert (linked.provider, linked.uid, linked.user_id) == (str(here.pk), "jo-1", jo.pk)
    # The groups are gone: the next sign-in takes what the rules have granted.
    there.person = {**JO, "groups": []}
    sign_in(client, there)
    assert roles_of(jo) == {}
    assert client.get(OFFICE).status_code == 404
    jo.is_active = False
    jo.save()
    refused = sign_in(Client(), there)
    assert (refused.status_code, "This account cannot sign in." in text_of(refused)) == (403, True)


def test_roles_by_hand_stay_apart(here: IdentityProvider, there: TestedProvider, storage: Storage) -> None:
    jo = StaffAccountFactory.create(email="Jo@Example.org")
    own = StorageMembership.objects.create(account=jo, storage=storage, roles=["approver"])
    assert (own.roles_by_hand, own.roles_by_rules) == (["approver"], [])
    sign_in(client := Client(), there)
    assert account_in(client) == jo
    own.refresh_from_db()
    assert (own.roles, own.roles_by_hand, own.roles_by_rules) == (["editor", "approver"], ["approver"], ["editor"])
    # A backup contains what was granted by hand.
    assert [each["roles"] for each in described(storage).memberships] == [["approver"]]
    AccessRule.objects.update(roles=["viewer"])
    sign_in(client, there)
    own.refresh_from_db()
    assert (own.roles, own.origins) == (["viewer", "approver"], {"hand": ["approver"], str(here.pk): ["viewer"]})
    remove_provider(here)
    own.refresh_from_db()
    assert (own.roles, own.origins) == (["approver"], None)
    assert account_in(client) is None
    assert (SocialAccount.objects.count(), ProviderSession.objects.count()) == (0, 0)


def test_a_subject_stays_with_its_account(here: IdentityProvider, there: TestedProvider) -> None:
    """Addresses change, and are given to other people."""
    sign_in(client := Client(), there)
    jo = account_in(client)
    there.person = {**JO, "email": "jo.doe@example.org"}
    sign_in(client, there)
    assert account_in(client) == jo
    there.person = {**JO, "sub": "somebody-else"}
    refused = sign_in(Client(), there)
    assert (refused.status_code, "belongs to another person" in text_of(refused)) == (403, True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    first_quick([
        ({"email_verified": False}, "has not verified your address"),
        ({"email_verified": None}, "has not verified your address"),
        ({"email": "jo@other.example"}, "not for your mail domain"),
        ({"email": "jo@sub.example.org"}, "not for your mail domain"),
        ({"email": "jo@example.org@other.example"}, "has not verified your address"),
        ({"groups": ["visitors"]}, "No rule gives you access"),
    ]),
)  # fmt: skip
def test_strangers_get_no_account(here: IdentityProvider, there: TestedProvider, changes: Any, reason: str) -> None:
    """Take-over by an unverified address, above all: an account with this address exists."""
    victim = StaffAccountFactory.create(email="jo@example.org") if "groups" not in changes else None
    there.person = {name: value for name, value in {**JO, **changes}.items() if value is not None}
    client = Client()
    refused = sign_in(client, there)
    assert (refused.status_code, reason in text_of(refused)) == (403, True), text_of(refused)
    assert account_in(client) is None
    assert StaffAccount.objects.count() == (1 if victim else 0)
    assert not SocialAccount.objects.exists()


def test_the_provider_of_a_collection_reaches_its_storages_only(
    here: IdentityProvider, there: TestedProvider, storage: Storage, other_storage: Storage
) -> None:
    rule(here, other_storage, "administrator")
    inside = StorageFactory.create(collection="acme", key="house")
    rule(here, inside, "viewer", comparison="any", value="")
    sign_in(client := Client(), there)
    jo = account_in(client)
    assert jo is not None
    assert roles_of(jo) == {"acme/handbook": ["editor"], "acme/house": ["viewer"]}
    # Never site administrators, whenever they became one.
    jo.is_superuser = True
    jo.save()
    refused = sign_in(Client(), there)
    assert (refused.status_code, "does not sign in site administrators" in text_of(refused)) == (403, True)
    jo.is_superuser = False
    jo.save()
    # A domain that is no longer assigned ends the access of people who are known.
    IdentityProvider.objects.update(mail_domains=["example.com"])
    refused = sign_in(Client(), there)
    assert (refused.status_code, "not for the mail domain of your account" in text_of(refused)) == (403, True)


@pytest.mark.long
def test_the_provider_of_the_installation(there: TestedProvider, storage: Storage, other_storage: Storage) -> None:
    provider = configured(there.issuer, mail_domains=[])
    for each in (storage, other_storage):
        rule(provider, each, "viewer")
    there.person = {"sub": "program", "groups": ["editors"]}
    sign_in(client := Client(), there)
    account = account_in(client)
    assert account is not None
    assert (account.username, account.email) == ("acme:program", "")
    assert roles_of(account) == {"acme/handbook": ["viewer"], "rival/handbook": ["viewer"]}
    # The account stays when the provider is removed, and does not belong to the same name of another one.
    remove_provider(provider)
    provider = configured(there.issuer, mail_domains=[])
    rule(provider, storage, "viewer")
    sign_in(client, there)
    again = account_in(client)
    assert again is not None
    assert (again != account, again.username.startswith("acme:program-")) == (True, True)
    # Neither letters that only look alike nor an address of another provider lead to an account.
    for victim, address in (("mike@example.com", "mi\u212ae@example.com"), ("sam@example.com", "\u017fam@example.com")):
        taken = StaffAccountFactory.create(email=victim)
        there.person = {**JO, "sub": victim, "email": address}
        sign_in(client := Client(), there)
        assert account_in(client) not in (None, taken)
    taken = StaffAccountFactory.create(email="jo@example.com")
    other = configured(there.issuer, key="other", mail_domains=["example.com"])
    there.person = {**JO, "email": "jo@example.com"}
    sign_in(client := Client(), there)
    assert account_in(client) not in (None, taken)
    remove_provider(other)
    # Without domains, an address must not lead to a site administrator.
    root = StaffAccountFactory.create(is_superuser=True, email="root@example.org")
    there.person = {**JO, "sub": "root-1", "email": "root@example.org"}
    assert sign_in(Client(), there).status_code == 403
    IdentityProvider.objects.update(mail_domains=["example.org"])
    sign_in(client, there)
    assert account_in(client) == root


def test_another_issuer_knows_other_people(here: IdentityProvider, there: TestedProvider) -> None:
    """The same subject there is somebody else (D511)."""
    sign_in(client := Client(), there)
    jo = account_in(client)
    save_provider(here, {"client_id": "renamed", "is_from_settings": True})
    assert account_in(client) is None
    assert not SocialAccount.objects.exists()
    save_provider(here, {"client_id": "repository"})
    there.person = {**JO, "email": "eve@example.org"}
    sign_in(client, there)
    assert account_in(client) not in (None, jo)


def test_a_password_keeps_no_roles_of_rules_alive(
    here: IdentityProvider, there: TestedProvider, storage: Storage
) -> None:
    """Somebody who has left the group signs in with a password (D512)."""
    password = "correct horse battery"
    jo = StaffAccount.objects.create_user("jo", "jo@example.org", password, is_staff=True)
    StorageMembership.objects.create(account=jo, storage=storage, roles=["viewer"])
    sign_in(Client(), there)

    def sign_in_with_password() -> dict[str, list[str]]:
        client = Client()
        sent_to_provider(client)
        typed = {"username": "jo", "password": password, "next": OFFICE}
        assert client.post(f"{OFFICE}login/", typed).status_code == 302
        assert client.session.get_expiry_age() > 11 * 3600
        return roles_of(jo)

    assert sign_in_with_password() == {"acme/handbook": ["viewer", "editor"]}
    SocialAccount.objects.update(last_login=timezone.now() - timedelta(hours=13))
    assert sign_in_with_password() == {"acme/handbook": ["viewer"]}
    sign_in(Client(), there)
    assert roles_of(jo) == {"acme/handbook": ["viewer", "editor"]}


def test_a_provider_that_was_disabled_meanwhile(here: IdentityProvider, there: TestedProvider) -> None:
    person = person_of(here, JO)
    IdentityProvider.objects.update(is_enabled=False)
    with pytest.raises(Forbidden):
        sign_on(here, person)
    assert not StaffAccount.objects.exists()


def test_passwords_can_be_switched_off(here: IdentityProvider, storage: Storage) -> None:
    password = "correct horse battery"
    jo = StaffAccount.objects.create_user("jo", "jo@Example.org", password, is_staff=True)
    root = StaffAccount.objects.create_superuser("root", "root@example.org", password)
    StorageMembership.objects.create(account=jo, storage=storage, roles=["editor"])
    IdentityProvider.objects.update(refuses_passwords=True)

    def attempt(name: str, typed: str) -> str:
        done = Client().post(f"{OFFICE}login/", {"username": name, "password": typed, "next": OFFICE})
        return "signed in" if done.status_code == 302 else text_of(done)

    hint = "Passwords are switched off for your mail domain. Sign in with Acme ID."
    assert hint in attempt("jo", password)
    assert hint not in attempt("jo", "wrong")
    assert attempt(root.username, password) == "signed in"
    IdentityProvider.objects.update(is_enabled=False)
    assert attempt("jo", password) == "signed in"


def test_sessions_end_with_the_provider_and_subjects_with_the_account(
    here: IdentityProvider, there: TestedProvider
) -> None:
    there.person = {**JO, "name": "Jo\0\ud800", "sid": "\0", "groups": ["editors", "\0"]}
    client, root = Client(), site_administrator()
    sign_in(client, there)
    jo = account_in(client)
    assert jo is not None
    save_provider(here, {"is_enabled": False})
    assert account_in(client) is None
    assert root.post(f"/admin/storage/staffaccount/{jo.pk}/delete/", {"post": "yes"}).status_code == 302
    assert (StaffAccount.objects.filter(pk=jo.pk).exists(), SocialAccount.objects.exists()) == (False, False)


def test_sessions_begin_anew(here: IdentityProvider, there: TestedProvider) -> None:
    """A planted session is useless after signing in."""
    client = Client()
    sent_to_provider(client)
    planted = client.session.session_key
    sign_in(client, there)
    assert client.session.session_key not in (None, planted)
    assert not Session.objects.filter(session_key=planted).exists()
    assert ProviderSession.objects.get().session_key == client.session.session_key


def test_settings_of_providers_are_checked(here: IdentityProvider, there: TestedProvider, storage: Storage) -> None:
    there.changed_metadata = {"issuer": "https://elsewhere.example"}
    wrong: dict[str, Any] = {
        "key": "Not ok",
        "name": " ",
        "client_id": "",
        "mail_domains": ["example.org", "x y"],
        "accepts_tokens": True,
        "scopes": 'openid "',
    }
    with pytest.raises(Invalid) as problem:
        configured(there.issuer, **wrong)
    assert list(problem.value.details) == [
        "id: expected up to 40 lowercase letters, digits and hyphens.",
        "name: a provider needs a name.",
        "client id: a provider needs a client id.",
        "scopes: expected names that are separated by spaces.",
        "mail domains: expected domains such as example.org.",
        "audience: access tokens need an audience, so that those for other services are refused.",
        "issuer: The discovery document names another issuer: https://elsewhere.example.",
    ]
    with pytest.raises(Invalid) as problem:
        configured(there.issuer, collection=storage.collection)
    assert list(problem.value.details)[:2] == [
        "id: another provider has this id.",
        "mail domains: Acme ID already has one of these domains.",
    ]
    with pytest.raises(Invalid) as problem:
        configured("https://169.254.169.254", key="inside", mail_domains=[], refuses_passwords=True)
    assert list(problem.value.details) == [
        "mail domains: these options need a list of domains.",
        "issuer: The address of 169.254.169.254 is private, local or reserved. REPOSITORY_WEBHOOK_NETWORKS can allow it.",
    ]
    assert "s3cret" not in IdentityProvider.objects.get().secret
