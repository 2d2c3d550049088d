"""allauth's MFA with our encryption (D553). Imported when somebody uses a second factor."""

from __future__ import annotations

from allauth.mfa.adapter import DefaultMFAAdapter

from repository_site.core.sealing import seal, unseal

PURPOSE = "second factors"


class FactorAdapter(DefaultMFAAdapter):
    """Encrypts the secrets of one-time codes and recovery codes with the key of the installation (D360)."""

    def encrypt(self, text: str) -> str:
        return seal(text, PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return unseal(encrypted_text, PURPOSE)
