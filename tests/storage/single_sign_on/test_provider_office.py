"""Identity providers and their rules in the site's back office, and roles of rules on other pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from repository_site.core.problems import Invalid
from storage.models import AccessRule, IdentityProvider, StaffAccount, Storage, StorageMembership
from storage.options import Role
from storage.single_sign_on.configured import adopt_configured_providers
from tests.identity_provider import JO, TestedProvider, sign_in
from tests.storage.office import errors, member, site_administrator

pytestmark = pytest.mark.django_db
LIST = "/admin/storage/identityprovider/"


def test_a_provider_is_added_changed_and_removed(there: TestedProvider, storage: Storage) -> None:
    root = site_administrator()
    given = {
        "name": "Acme ID",
        "key": "acme",
        "collection": str(storage.collection_id),
        "is_enabled": "on",
        "issuer": there.issuer,
        "client_id": "repository",
        "client_secret": "s3cret",
        "scopes": "profile email",
        "mail_domains": "Example.org\nexample.com",
    }
    page = root.post(f"{LIST}add/", {**given, "mail_domains": "no domain"}).content.decode()
    assert errors(page) == ["Expected domains such as example.org."]
    done = root.post(f"{LIST}add/", given)
    made = IdentityProvider.objects.get()
    assert done["Location"] == f"{LIST}{made.pk}/rules/"
    assert (made.mail_domains, made.scopes) == (["example.com", "example.org"], "openid profile email")
    assert "s3cret" not in made.secret
    page = root.get(f"{LIST}{made.pk}/change/").content.decode()
    assert "http://testserver/admin/sso/acme/callback/" in page
    assert "http://testserver/admin/sso/acme/back-channel/" in page
    assert "s3cret" not in page
    sealed = made.secret
    changed = root.post(f"{LIST}{made.pk}/change/", {**given, "client_secret": "", "name": "New name", "key": "x"})
    made.refresh_from_db()
    assert (changed.status_code, made.name, made.key, made.secret) == (302, "New name", "acme", sealed)
    assert "New name" in root.get(LIST).content.decode()
    assert b"Nobody can sign in" in root.get(f"{LIST}{made.pk}/remove/").content
    assert root.post(f"{LIST}{made.pk}/remove/").status_code == 302
    assert not IdentityProvider.objects.exists()


def test_only_site_administrators_see_providers(here: IdentityProvider, storage: Storage) -> None:
    administrator = member(storage, Role.ADMINISTRATOR)
    for path in ("", "add/", f"{here.pk}/change/", f"{here.pk}/rules/", f"{here.pk}/remove/"):
        assert administrator.get(f"{LIST}{path}").status_code == 403, path
        assert Client().get(f"{LIST}{path}").status_code == 302, path


def rows(*rules: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": len(rules)}
    for place, each in enumerate(rules):
        found |= {f"rule{place}-{name}": value for name, value in each.items()}
    return found


def test_rules_are_tried_out_before_they_are_saved(
    here: IdentityProvider, there: TestedProvider, storage: Storage, other_storage: Storage
) -> None:
    root = site_administrator()
    address = f"{LIST}{here.pk}/rules/"
    assert 'value="editors"' in root.get(address).content.decode()
    given = rows(
        {"claim": "groups", "comparison": "pattern", "value": "edit*", "storage": storage.pk, "roles": ["editor"]},
        {"claim": "email", "comparison": "any", "storage": storage.pk, "roles": ["viewer", "approver"]},
        {},
    )
    page = root.post(address, {**given, "try": "", "claims": json.dumps(JO)}).content.decode()
    for text in ("Verified address: jo@example.org", "Viewer, Editor, Approver", "Rules 1, 2"):
        assert text in page, page
    page = root.post(
        address, {**given, "try": "", "claims": json.dumps({**JO, "email_verified": False})}
    ).content.decode()
    assert "No verified address" in page
    assert "Rule 1" in page
    assert "Approver</td>" not in page
    assert "Nothing: no rule applies." in root.post(address, {**given, "try": "", "claims": "{}"}).content.decode()
    assert (
        "Expected claims as a JSON object" in root.post(address, {**given, "try": "", "claims": "[]"}).content.decode()
    )
    assert [each.value for each in AccessRule.objects.all()] == ["editors"]
    # Somebody who has signed in.
    sign_in(Client(), there)
    person = StaffAccount.objects.get(username=JO["email"])
    number = root.get(address).content.decode().partition(">Jo Doe</option>")[0].rpartition('value="')[2].strip('"')
    assert "Viewer, Editor, Approver" in root.post(address, {**given, "try": "", "person": number}).content.decode()
    assert root.post(address, {**given, "save": ""}).status_code == 302
    assert [(each.comparison, each.value, each.roles) for each in AccessRule.objects.all()] == [
        ("pattern", "edit*", ["editor"]),
        ("any", "", ["viewer", "approver"]),
    ]
    assert person.memberships.get().roles == ["editor"]
    wrong = rows({"claim": "groups", "comparison": "equals", "storage": other_storage.pk, "user_claim": "sub"})
    page = root.post(address, {**wrong, "save": ""}).content.decode()
    assert "Select a valid choice" in page
    wrong = rows({"value": "x", "comparison": "equals", "storage": storage.pk, "user_claim": "sub"})
    page = root.post(address, {**wrong, "save": ""}).content.decode()
    for text in ("a rule needs a claim", "at least one role", "one is missing"):
        assert text in page
    removed = rows(
        {"claim": "groups", "comparison": "any", "storage": storage.pk, "roles": ["editor"], "is_removed": "on"}
    )
    assert root.post(address, {**removed, "save": ""}).status_code == 302
    assert not AccessRule.objects.exists()


def test_forms_change_roles_by_hand_only(here: IdentityProvider, there: TestedProvider, storage: Storage) -> None:
    sign_in(Client(), there)
    membership = StorageMembership.objects.get()
    administrator = member(storage, Role.ADMINISTRATOR)
    address = f"/acme/handbook/admin/storage/storagemembership/{membership.pk}/change/"
    page = administrator.get(address).content.decode()
    assert "Rules of an identity provider grant: Editor." in page
    assert administrator.post(address, {"roles": ["approver"]}).status_code == 302
    membership.refresh_from_db()
    assert (membership.roles, membership.roles_by_hand) == (["editor", "approver"], ["approver"])
    assert administrator.post(address, {"roles": []}).status_code == 302
    membership.refresh_from_db()
    assert (membership.roles, membership.roles_by_hand) == (["editor"], [])
    root, account = site_administrator(), membership.account
    page = f"/admin/storage/staffaccount/{account.pk}/change/"
    inline = {
        "memberships-TOTAL_FORMS": 1,
        "memberships-INITIAL_FORMS": 1,
        "memberships-0-id": membership.pk,
        "memberships-0-account": account.pk,
        "memberships-0-storage": storage.pk,
        "memberships-0-roles": ["viewer"],
    }
    done = root.post(page, {"username": account.username, "is_active": "on", **inline})
    assert done.status_code == 302, errors(done.content.decode())
    membership.refresh_from_db()
    assert (membership.roles, membership.roles_by_hand) == (["viewer", "editor"], ["viewer"])


def test_providers_of_the_environment(there: TestedProvider, storage: Storage, settings: Any) -> None:
    given = {"id": "env", "name": "Env", "issuer": there.issuer, "clientId": "c", "clientSecret": "x"}
    settings.SIGN_ON_PROVIDERS = ({**given, "collection": "acme", "mailDomains": ["example.org"]},)
    adopt_configured_providers()
    adopt_configured_providers()
    made = IdentityProvider.objects.get()
    assert (made.key, made.collection, made.mail_domains, made.is_from_settings) == (
        "env",
        storage.collection,
        ["example.org"],
        True,
    )
    root = site_administrator()
    page = root.post(f"{LIST}{made.pk}/change/", {"name": "Changed"}).content.decode()
    assert "The environment defines this provider" in page
    made.refresh_from_db()
    assert made.name == "Env"
    assert root.post(f"{LIST}{made.pk}/remove/").status_code == 302
    # A part that is removed has its default again, and a domain can move, whatever the order.
    parts = {"acceptsTokens": True, "audience": "a", "mailDomains": ["example.org"]}
    settings.SIGN_ON_PROVIDERS = ({**given, **parts},)
    adopt_configured_providers()
    settings.SIGN_ON_PROVIDERS = ({**given, "id": "new", "mailDomains": ["example.org"]}, given)
    adopt_configured_providers()
    made.refresh_from_db()
    assert (made.accepts_tokens, made.audience, made.mail_domains, made.collection) == (False, "", [], None)
    IdentityProvider.objects.get(key="new").delete()
    settings.SIGN_ON_PROVIDERS = ({**given, "collection": "nowhere"},)
    with pytest.raises(Invalid, match="REPOSITORY_SIGN_ON_PROVIDERS, env: collection: there is no such collection"):
        adopt_configured_providers()
    settings.SIGN_ON_PROVIDERS = ()
    adopt_configured_providers()
    assert not IdentityProvider.objects.get().is_enabled
    assert b"no longer contains this provider" in root.get(f"{LIST}{made.pk}/change/").content
    root.post(f"{LIST}{made.pk}/remove/")
    assert not IdentityProvider.objects.exists()
