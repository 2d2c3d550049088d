"""The throttles of the installation, for the API and the pages: one for tokens, one for anonymous addresses (D28)."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from repository_site.core.client_network import client_network
from repository_site.core.rest.throttling import Throttle
from storage.access.callers import Caller, CallerKind

token_throttle = Throttle(settings.TOKEN_RATE)
anonymous_throttle = Throttle(settings.ANONYMOUS_RATE)


def throttle_address(request: HttpRequest) -> None:
    """Count a request without a valid credential or address by its network, so that guessing is not free."""
    anonymous_throttle.take(f"address:{client_network(request)}")


def throttle_caller(caller: Caller) -> None:
    throttle = anonymous_throttle if caller.kind is CallerKind.ANONYMOUS else token_throttle
    throttle.take(caller.throttle_key)
