"""Attacks on signing in: state, nonce, mix-up, replay, wrong tokens, open redirect, addresses inside the network."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from storage.models import IdentityProvider, Storage
from storage.single_sign_on import outgoing_requests
from storage.single_sign_on.outgoing_requests import MOST_WAITING, ProviderFailed, ask, forget_providers, read_metadata
from tests.identity_provider import (
    JO,
    Claims,
    TestedProvider,
    come_back,
    configured,
    running_provider,
    sent_to_provider,
    sign_in,
)
from tests.scale import first_quick

pytestmark = pytest.mark.django_db


def is_refused(client: Client, response: Any) -> bool:
    assert response.status_code == 403, response.content
    assert b"Signing in has failed" in response.content
    return "_auth_user_id" not in client.session


def unsigned(claims: Claims) -> str:
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    return ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in parts) + "."


def with_public_key(there: TestedProvider) -> Callable[[Claims], str]:
    """Sign with the public key as a shared secret."""
    public = there.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def sign(claims: Claims) -> str:
        given = [{"alg": "HS256", "kid": "first"}, claims]
        text = ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in given)
        signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(text.encode(), public)
        return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    return sign


WRONG_CLAIMS: dict[str, Claims] = {
    "wrong nonce": {"nonce": "planted"},
    "no nonce": {"nonce": None},
    "wrong issuer": {"iss": "https://elsewhere.example"},
    "wrong audience": {"aud": "another-client"},
    "another party": {"azp": "another-client"},
    "several audiences without a party": {"aud": ["repository", "another-client"]},
    "expired": {"exp": int(time.time()) - 3600},
    "not yet issued": {"iat": int(time.time()) + 3600},
    "no end": {"exp": None},
    "no subject": {"sub": None},
    "subject of another type": {"sub": 5},
}


# Quick tests try these.
SOME_ATTACKS = ("wrong nonce", "wrong audience", "alg=none", "foreign key")


@pytest.mark.parametrize("is_quick", first_quick([True, False]))
def test_wrong_id_tokens_are_refused(here: IdentityProvider, there: TestedProvider, is_quick: bool) -> None:
    foreign = ec.generate_private_key(ec.SECP256R1())

    def changed(changes: Claims, claims: Claims) -> str:
        found = {**claims, **changes}
        # PyJWT does not write some of them.
        return jwt.api_jws.encode(
            json.dumps({name: value for name, value in found.items() if value is not None}).encode(),
            there.keys["first"],
            algorithm="ES256",
            headers={"kid": "first"},
        )

    attacks: dict[str, Callable[[Claims], str]] = {
        **{name: partial(changed, changes) for name, changes in WRONG_CLAIMS.items()},
        "alg=none": unsigned,
        "public key as secret": with_public_key(there),
        "unknown key": lambda claims: there.signed(claims, kid="unknown"),
        "foreign key": lambda claims: jwt.encode(claims, foreign, algorithm="ES256", headers={"kid": "first"}),
    }
    taken = []
    for name in SOME_ATTACKS if is_quick else attacks:
        client, there.sign = Client(), attacks[name]
        if not is_refused(client, sign_in(client, there)):
            taken.append(name)
    assert taken == []
    # What is signed as it should be is accepted, also from a client that was refused before.
    there.sign = there.signed
    assert sign_in(client, there).status_code == 302


def test_state(here: IdentityProvider, there: TestedProvider) -> None:
    """A state is valid in its own session, once, for its own provider."""
    attacker, victim = Client(), Client()
    planted = there.authorize(sent_to_provider(attacker))
    assert is_refused(victim, come_back(victim, planted))
    assert is_refused(victim, come_back(victim, "/admin/sso/acme/callback/?code=code-0"))
    assert is_refused(victim, come_back(victim, "/admin/sso/acme/callback/?code=code-0&state=guessed"))
    own = there.authorize(sent_to_provider(victim))
    assert come_back(victim, own).status_code == 302
    replayed: Any = come_back(victim, own)
    assert (replayed.status_code, b"Try again" in replayed.content) == (403, True)


def test_an_injected_code_does_not_fit_the_verifier(here: IdentityProvider, there: TestedProvider) -> None:
    """PKCE: the code of somebody else in the own session."""
    stolen = there.authorize(sent_to_provider(Client()))
    code = stolen.partition("code=")[2].partition("&")[0]
    client = Client()
    assert is_refused(client, sign_in(client, there, code=code))


def test_mix_up(here: IdentityProvider, there: TestedProvider, storage: Storage) -> None:
    """The answer of one provider at the address of another one, or with its name."""
    with running_provider() as hostile:
        configured(hostile.issuer, key="hostile", mail_domains=["hostile.example"], collection=storage.collection)
        client = Client()
        back = there.authorize(sent_to_provider(client, "acme"))
        assert is_refused(client, come_back(client, back.replace("/sso/acme/", "/sso/hostile/")))
        assert is_refused(client, sign_in(client, there, iss=hostile.issuer))
        there.changed_metadata = {"authorization_response_iss_parameter_supported": True}
        forget_providers()
        assert is_refused(client, sign_in(client, there))
        assert sign_in(client, there, iss=there.issuer).status_code == 302
        # It claims the subject and the address of somebody at the other provider.
        hostile.person = dict(JO)
        other = Client()
        refused = sign_in(other, hostile, "hostile")
        assert (refused.status_code, "_auth_user_id" in other.session) == (403, False)


@pytest.mark.parametrize(
    "address",
    first_quick(
        ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "https:evil.example"]
    ),
)
def test_nobody_is_redirected_elsewhere(here: IdentityProvider, there: TestedProvider, address: str) -> None:
    assert sign_in(Client(), there, next_address=address)["Location"] == "/admin/"


def test_user_info_of_somebody_else(here: IdentityProvider, there: TestedProvider) -> None:
    there.user_info = {**JO, "sub": "another"}
    client = Client()
    assert is_refused(client, sign_in(client, there))


def test_user_info_does_not_verify_the_address_of_the_id_token(here: IdentityProvider, there: TestedProvider) -> None:
    there.person = {**JO, "email_verified": None}
    there.user_info = {"sub": JO["sub"], "email": "mallory@example.org", "email_verified": True}
    client = Client()
    refused: Any = sign_in(client, there)
    assert (refused.status_code, b"has not verified your address" in refused.content) == (403, True)


def test_a_session_is_not_prolonged_by_beginning_to_sign_in(here: IdentityProvider, there: TestedProvider) -> None:
    """Neither is the database filled with the sessions of strangers."""
    sign_in(client := Client(), there)
    Session.objects.update(expire_date=(end := timezone.now() + timedelta(hours=1)))
    sent_to_provider(client)
    assert Session.objects.get().expire_date == end
    sent_to_provider(Client())
    assert Session.objects.order_by("expire_date")[0].expire_date < timezone.now() + timedelta(minutes=11)


def test_addresses_of_an_encrypted_issuer_are_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
    found = {"issuer": "https://id.example"} | dict.fromkeys(names, "https://id.example/a")
    monkeypatch.setattr(outgoing_requests, "fetch_json", lambda address: dict(found))
    assert read_metadata("https://id.example") == found
    found["userinfo_endpoint"] = "http://id.example/a"
    assert "userinfo_endpoint" not in read_metadata("https://id.example")
    found["jwks_uri"] = "http://id.example/a"
    with pytest.raises(ProviderFailed, match="jwks_uri"):
        read_metadata("https://id.example")


def test_a_slow_provider_leaves_turns_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing_requests, "LONGEST_TURN", 0.0)
    sent: list[str] = []

    def send(method: str, url: str, headers: Any, body: bytes) -> Any:
        """Answer after the next request to the same host, up to the last one that gets a turn."""
        sent.append(url)
        if url == "https://slow.example/":
            with suppress(ProviderFailed):
                ask("GET", url, {})
            if len(sent) == MOST_WAITING // 2:
                ask("GET", "https://other.example/", {})

    monkeypatch.setattr(outgoing_requests, "send", send)
    ask("GET", "https://slow.example/", {})
    assert sent == ["https://slow.example/"] * (MOST_WAITING // 2) + ["https://other.example/"]


@pytest.mark.parametrize(
    "answer",
    first_quick([{"access_token": "a", "id_token": 5}, [], ["access_token"], {"access_token": 5}, "access_token"]),
)
def test_strange_answers(here: IdentityProvider, there: TestedProvider, answer: Any) -> None:
    there.token_answer = answer
    client = Client()
    assert is_refused(client, sign_in(client, there))


def test_an_authorization_endpoint_with_a_query(here: IdentityProvider, there: TestedProvider) -> None:
    there.changed_metadata = {"authorization_endpoint": f"{there.issuer}/authorize?p=flow"}
    forget_providers()
    address = sent_to_provider(client := Client())
    assert (address.count("?"), parse_qs(urlsplit(address).query)["p"]) == (1, ["flow"])
    assert come_back(client, there.authorize(address)).status_code == 302


def test_parameters_of_the_address_do_not_reach_the_provider(here: IdentityProvider, there: TestedProvider) -> None:
    """allauth would accept scopes, parameters and the kind of process from the address."""
    given = "scope=admin&auth_params=redirect_uri%3Dhttps%3A%2F%2Fevil.example&process=connect&action=reauthenticate"
    address = Client().get(f"/admin/sso/acme/?{given}")["Location"]
    assert address.startswith(f"{there.issuer}/authorize?")
    assert "evil" not in address
    assert "scope=openid" in address or "scope=profile" in address or "scope=email" in address
    assert "admin&" not in address.replace("%2Fadmin%2F", "")


@pytest.mark.parametrize(
    ("metadata", "redirect"),
    first_quick(
        [
            ({"token_endpoint": "http://169.254.169.254/latest"}, ""),
            ({"jwks_uri": "http://10.0.0.1/jwks"}, ""),
            ({"userinfo_endpoint": "http://[::ffff:10.0.0.1]/"}, ""),
            ({}, "http://169.254.169.254/latest"),
        ]
    ),
)
def test_addresses_inside_the_network(
    here: IdentityProvider, there: TestedProvider, metadata: Claims, redirect: str
) -> None:
    """Each address passes the check of webhooks, and redirects are not followed."""
    there.changed_metadata = metadata
    forget_providers()
    client = Client()
    back = there.authorize(sent_to_provider(client))
    there.redirects_to = redirect
    assert is_refused(client, come_back(client, back))


def test_a_provider_that_is_away(here: IdentityProvider, there: TestedProvider) -> None:
    there.close()
    forget_providers()
    for _ in range(2):
        response = Client().get("/admin/sso/acme/")
        assert (response.status_code, b"does not answer as expected" in response.content) == (502, True)
    there.__init__()  # type: ignore[misc]  # so that the fixture can close it


def test_unknown_providers(here: IdentityProvider) -> None:
    paths = ["unknown/", "unknown/callback/", f"{here.pk}/", f"{here.pk}/callback/"]
    assert [Client().get(f"/admin/sso/{path}").status_code for path in paths] == [404] * 4
    IdentityProvider.objects.update(is_enabled=False)
    assert Client().get("/admin/sso/acme/").status_code == 404


def test_new_keys_are_loaded_but_not_for_every_invented_one(
    here: IdentityProvider, there: TestedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(Client(), there)
    there.asked.clear()
    there.sign = lambda claims: there.signed(claims, kid="invented")
    for _ in range(3):
        sign_in(Client(), there)
    assert there.asked.count("/jwks") == 0
    monkeypatch.setattr("storage.single_sign_on.outgoing_requests.RELOAD_SECONDS", 0.0)
    there.sign = there.signed
    there.add_key("second")
    assert sign_in(Client(), there).status_code == 302
    assert there.asked.count("/jwks") == 1
