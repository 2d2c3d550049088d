"""Encryption of secrets that the database keeps and the service must read again (D360).

The keys are derived from SECRET_KEY and its fallbacks. A database that is restored elsewhere, without the key, reveals
no secret, and the service there cannot use one.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class Unsealable(Exception):
    """A secret was encrypted with a key that this installation does not have, or is damaged."""


def seal(text: str, purpose: str) -> str:
    """Return a text encrypted. What is sealed for one purpose cannot be opened for another one."""
    return _cipher(purpose, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).encrypt(text.encode()).decode()


def unseal(sealed: str, purpose: str) -> str:
    from cryptography.fernet import InvalidToken

    try:
        cipher = _cipher(purpose, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        return cipher.decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unsealable("This installation does not have the key with which the secret was encrypted.") from None


@cache
def _cipher(purpose: str, *keys: str) -> MultiFernet:
    # Few processes need secrets, and the library takes some time to load.
    from cryptography.fernet import Fernet, MultiFernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    def derived(key: str) -> Fernet:
        material = HKDF(SHA256(), 32, salt=None, info=f"repository {purpose}".encode()).derive(key.encode())
        return Fernet(base64.urlsafe_b64encode(material))

    return MultiFernet([derived(key) for key in keys])
