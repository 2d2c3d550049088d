"""allauth's code flow with our providers and our checks (D500). Imported when somebody signs in at a provider."""

from __future__ import annotations

import secrets
from typing import Any

import requests
from allauth.core import context
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest, HttpResponse
from requests.adapters import BaseAdapter

from repository_site.core.sealing import Unsealable, unseal
from storage.models import IdentityProvider
from storage.single_sign_on.outgoing_requests import ProviderFailed, ask, fetch_json, metadata_of
from storage.single_sign_on.providers import PURPOSE, callback_address, provider_with
from storage.single_sign_on.signed_tokens import TokenRefused, checked_id_token

NONCE = "nonce"


class SignedOn(Exception):
    """Ends the flow of allauth: the claims are checked, and the rest is ours."""

    def __init__(self, claims: dict[str, Any], id_token: str, next_address: str) -> None:
        super().__init__()
        self.claims = claims
        self.id_token = id_token
        self.next_address = next_address


class SignOnFailed(Exception):
    """Ends the flow of allauth with a failure; the message is for the log."""

    def __init__(self, reason: str, *, is_cancelled: bool = False) -> None:
        super().__init__(reason)
        self.is_cancelled = is_cancelled


class CheckedRequests(BaseAdapter):
    """Transport of requests that passes the checks of webhooks and follows no redirect (D505)."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        body: Any = request.body or b""
        headers = {name: str(value) for name, value in request.headers.items() if name.lower() not in _OWN_HEADERS}
        answer = ask(str(request.method), str(request.url), headers, body.encode() if isinstance(body, str) else body)
        if answer.status is None or 300 <= answer.status < 400:
            raise requests.ConnectionError(answer.error or f"redirect {answer.status}", request=request)
        response = requests.Response()
        response.status_code, response.url, response.request = answer.status, str(request.url), request
        response._content = answer.body
        response.headers["Content-Type"] = "application/json"
        return response

    def close(self) -> None:
        pass


_OWN_HEADERS = {"accept-encoding", "connection", "content-length", "host"}


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Answers allauth with our providers. Their ids are those of allauth's apps and subjects."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[SocialApp]:
        found = provider_with(provider) if provider else None
        return [_app(found)] if found is not None and client_id in (None, found.client_id) else []

    def get_provider(self, request: HttpRequest, provider: Any, client_id: Any = None) -> CheckedProvider:
        return CheckedProvider(request, app=self.get_app(request, provider=provider, client_id=client_id))

    def get_requests_session(self) -> requests.Session:
        session = requests.Session()
        session.trust_env = False
        session.mount("https://", CheckedRequests())
        session.mount("http://", CheckedRequests())
        return session

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        raise SignOnFailed("allauth must not sign in anybody")

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        named = request.GET.get("error", "") if request.method == "GET" else ""
        reason = str(exception or named or "unknown, used or expired state")[:300]
        raise SignOnFailed(reason, is_cancelled=named == "access_denied")


def _app(provider: IdentityProvider) -> SocialApp:
    """Return the app that allauth would store. It is never saved."""
    return SocialApp(
        provider="openid_connect",
        provider_id=str(provider.pk),
        name=provider.name,
        client_id=provider.client_id,
        secret=unseal(provider.secret, PURPOSE) if provider.secret else "",
        settings={"oauth_pkce_enabled": True, "scope": provider.scopes.split(), "server_url": provider.issuer},
    )


class QueryClient(OAuth2Client):
    """Client of a provider whose authorization endpoint may have a query of its own, as those of Entra B2C."""

    def get_redirect_url(self, authorization_url: str, scope: Any, extra_params: Any) -> str:
        address, _mark, own = authorization_url.partition("?")
        found = str(super().get_redirect_url(address, scope, extra_params))
        return f"{found}&{own}" if own else found


class CheckedClientAdapter(OpenIDConnectOAuth2Adapter):
    """The protocol of one provider: metadata that we have checked, and ID tokens that we check."""

    client_class = QueryClient
    state: dict[str, Any] | None = None

    @property
    def identity_provider(self) -> IdentityProvider:
        found = provider_with(self.provider_id)
        if found is None:
            raise SocialApp.DoesNotExist
        return found

    @property
    def openid_config(self) -> dict[str, Any]:
        return metadata_of(self.identity_provider)

    def parse_token(self, data: Any) -> SocialToken:
        """Return the access token, which only asks for the user info. Its end does not matter."""
        if not isinstance(data, dict) or not isinstance(data.get("access_token"), str):
            raise OAuth2Error("no access token")
        return SocialToken(token=data["access_token"])

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return callback_address(request, self.identity_provider)

    def complete_login(self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any) -> SocialLogin:
        id_token = kwargs["response"].get("id_token")
        state = self.state or {}
        provider = self.identity_provider
        if not isinstance(id_token, str):
            raise OAuth2Error("no ID token")
        claims = checked_id_token(provider, id_token, str((state.get("data") or {}).get(NONCE, "")))
        more = self._user_info(token.token, claims["sub"])
        # Only the ID token says how somebody has signed in (D553).
        more.pop("amr", None)
        if "email" in claims:
            # It says whether its own address is verified, not the one in the ID token.
            more.pop("email_verified", None)
        raise SignedOn({**more, **claims}, id_token, state.get("next") or "")

    def _user_info(self, access_token: str, subject: str) -> dict[str, Any]:
        """Return further claims, for example groups. An answer about somebody else is refused."""
        address = self.openid_config.get("userinfo_endpoint")
        if address is None:
            return {}
        found = fetch_json(address, {"Authorization": f"Bearer {access_token}"})
        if found.get("sub") != subject:
            raise TokenRefused("user info of another subject")
        return found


class CheckedProvider(OpenIDConnectProvider):
    oauth2_adapter_class = CheckedClientAdapter


class CheckedCallback(OAuth2CallbackView):
    """The answer of a provider. The state belongs to this provider, and `iss` names it (RFC 9207)."""

    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        state, response = super()._get_state(request, provider)
        self.adapter.state = state
        identity = self.adapter.identity_provider
        issuer = request.GET.get("iss")
        must_name = bool(metadata_of(identity).get("authorization_response_iss_parameter_supported"))
        if (issuer is not None or must_name) and issuer != identity.issuer:
            raise SignOnFailed("the answer is from another issuer")
        return state, response


# Also what allauth raises for metadata and answers of the wrong type.
_FAILURES = (
    *(ProviderFailed, TokenRefused, Unsealable, requests.RequestException, SocialApp.DoesNotExist),
    *(ValueError, TypeError, AttributeError),
)


def begin(request: HttpRequest, provider: IdentityProvider, next_address: str) -> HttpResponse:
    """Send the browser to a provider; raise SignOnFailed if the provider does not answer."""
    nonce = secrets.token_urlsafe(24)
    with context.request_context(request):
        try:
            found = ProviderAdapter(request).get_provider(request, str(provider.pk))
            response: HttpResponse = found.redirect(
                request, "login", next_url=next_address, data={NONCE: nonce}, auth_params={NONCE: nonce}
            )
        except _FAILURES as problem:
            raise SignOnFailed(str(problem)) from problem
    return response


def finish(request: HttpRequest, provider: IdentityProvider) -> SignedOn:
    """Return the checked claims of a person whom the provider sends back; raise SignOnFailed otherwise."""
    with context.request_context(request):
        view = CheckedCallback()
        view.request = request
        view.adapter = CheckedClientAdapter(request, str(provider.pk))
        try:
            view.dispatch(request)
        except SignedOn as done:
            return done
        except _FAILURES as problem:
            raise SignOnFailed(str(problem)) from problem
    raise SignOnFailed("the flow did not end")
