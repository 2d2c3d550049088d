"""An OpenID Connect provider in the process of the tests, which can also misbehave: the attacks of a hostile one.

`tests/storage/single_sign_on/test_real_provider.py` uses one that is not ours.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from django.http.response import HttpResponseBase
from django.test import Client
from jwt.algorithms import ECAlgorithm

from storage.models import AccessRule, IdentityProvider, Storage
from storage.single_sign_on.outgoing_requests import forget_providers
from storage.single_sign_on.providers import save_provider

Claims = dict[str, Any]
CLIENT = "repository"
JO: Claims = {
    "sub": "jo-1",
    "email": "jo@example.org",
    "email_verified": True,
    "given_name": "Jo",
    "family_name": "Doe",
    "groups": ["editors", "staff"],
}


class TestedProvider:
    """Its addresses, its key, and the person who is signed in there."""

    __test__ = False

    def __init__(self) -> None:
        self.keys = {"first": ec.generate_private_key(ec.SECP256R1())}
        self.person: Claims = dict(JO)
        self.sign: Callable[[Claims], str] = self.signed
        self.changed_metadata: Claims = {}
        self.user_info: Claims | None = None
        self.token_answer: Any = None
        self.redirects_to = ""
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_key(self, name: str) -> None:
        self.keys = {name: ec.generate_private_key(ec.SECP256R1())}

    def signed(self, claims: Claims, **header: Any) -> str:
        name, key = next(iter(self.keys.items()))
        return jwt.encode(claims, key, algorithm="ES256", headers={"kid": name, **header})

    def id_claims(self, **changes: Any) -> Claims:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "sid": "s-1",
            **self.person,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def authorize(self, address: str, **changes: str) -> str:
        """Return the address to which the browser is sent back after signing in at the provider."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], **changes}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def _answer(self, method: str, path: str, form: dict[str, list[str]]) -> tuple[int, Any]:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/jwks",
                "end_session_endpoint": f"{self.issuer}/end",
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                **self.changed_metadata,
            }
        if path == "/jwks":
            keys = [
                {**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": name, "use": "sig", "alg": "ES256"}
                for name, key in self.keys.items()
            ]
            return 200, {"keys": keys}
        if path == "/userinfo":
            return 200, {"sub": self.person["sub"]} if self.user_info is None else self.user_info
        if path == "/token" and method == "POST":
            return self._token({name: values[0] for name, values in form.items()})
        return 404, {}

    def _token(self, form: dict[str, str]) -> tuple[int, Any]:
        asked = self._codes.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if self.token_answer is not None:
            return 200, self.token_answer
        id_token = self.sign(self.id_claims(nonce=asked["nonce"]))
        return 200, {"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": id_token}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer("GET")

            def do_POST(self) -> None:
                self.answer("POST")

            def answer(self, method: str) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if provider.redirects_to:
                    self.send_response(302)
                    self.send_header("Location", provider.redirects_to)
                    self.end_headers()
                    return
                status, found = provider._answer(method, urlsplit(self.path).path, parse_qs(body.decode()))
                sent = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


@contextmanager
def running_provider() -> Iterator[TestedProvider]:
    provider = TestedProvider()
    forget_providers()
    try:
        yield provider
    finally:
        provider.close()
        forget_providers()


def configured(issuer: str, key: str = "acme", secret: str = "s3cret", **fields: Any) -> IdentityProvider:
    given = {
        "key": key,
        "name": "Acme ID",
        "issuer": issuer,
        "client_id": CLIENT,
        "mail_domains": ["example.org"],
        **fields,
    }
    return save_provider(IdentityProvider(), given, secret)


def rule(provider: IdentityProvider, storage: Storage, *roles: str, **fields: Any) -> AccessRule:
    given = {"claim": "groups", "comparison": "equals", "value": "editors", "position": 0, **fields}
    return AccessRule.objects.create(provider=provider, storage=storage, roles=[*roles], **given)


def sent_to_provider(client: Client, key: str = "acme", next_address: str = "") -> str:
    """Return the address at the provider to which the button of the sign-in page leads."""
    response = client.get(f"/admin/sso/{key}/", {"next": next_address})
    assert response.status_code == 302, response.content
    return str(response["Location"])


def sign_in(
    client: Client, provider: TestedProvider, key: str = "acme", next_address: str = "", **changes: str
) -> HttpResponseBase:
    back = provider.authorize(sent_to_provider(client, key, next_address), **changes)
    return come_back(client, back)


def come_back(client: Client, address: str) -> HttpResponseBase:
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")
