"""An administrator invites a person by a copied link; the person chooses a password, and sets up a passkey and an app."""

from __future__ import annotations

import time

import pytest
from allauth.mfa.totp.internal import auth

from tests.browser.conftest import DEMO, NewVisitor
from tests.browser.keyboard import check_focus

pytestmark = [pytest.mark.long, pytest.mark.browser]
CHOSEN = "a password of an invited person"
KEY = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


def test_an_invited_person_sets_up_second_factors(visit: NewVisitor) -> None:
    rita = visit("rita")
    page = rita.page
    rita.open(f"{DEMO}/admin/storage/invitation/add/")
    rita.check_looks(0)
    page.locator("input[name=address]").fill("ada@example.org")
    page.get_by_label("Editor").check()
    rita.follow(page.get_by_role("button", name="Create the link"))
    rita.check_looks(1)
    link = page.get_by_label("Link of the invitation").inner_text()
    rita.open(f"{DEMO}/admin/storage/invitation/")
    rita.check_looks(0)
    rita.follow(page.get_by_role("link", name="ada@example.org"))
    rita.check_looks(1)

    ada = visit(locale="de-DE")
    # Passkeys need https or this name.
    ada.base = ada.base.replace("127.0.0.1", "localhost")
    ada.open("/admin/password/")
    ada.check_looks(0)
    ada.open("/admin/invitation/" + link.partition("/admin/invitation/")[2])
    page = ada.page
    ada.check_looks(1)
    page.get_by_label("Nachname").fill("Miller")
    page.get_by_label("Passwort", exact=True).fill(CHOSEN)
    page.get_by_label("Passwort wiederholen").press_sequentially(CHOSEN)
    page.keyboard.press("Tab")
    check_focus(page.get_by_role("button", name="Konto anlegen"))
    with page.expect_navigation():
        page.keyboard.press("Enter")
    ada.check_looks(0)
    name = page.locator("strong").inner_text()
    page.get_by_role("link", name="Anmelden").click()

    def type_password() -> None:
        page.locator("input[name=username]").fill(name)
        page.locator("input[name=password]").fill(CHOSEN)
        ada.follow(page.locator("button[type=submit]"))

    type_password()
    ada.open(f"{DEMO}/account/")
    ada.check_looks(1)
    assert page.get_by_text("diese Sitzung").is_visible()

    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": {**KEY, "automaticPresenceSimulation": True}})
    ada.follow(page.get_by_role("link", name="Zweiter Faktor"))
    ada.check_looks(0)
    page.get_by_label("Name").fill("Laptop")
    ada.follow(page.get_by_role("button", name="Passkey hinzufügen"))
    assert page.locator(".codes li").count() == 10
    ada.check_looks(1)
    ada.follow(page.get_by_role("link", name="Ich habe sie gesichert"))
    assert page.get_by_text("Laptop").first.is_visible()
    secret = page.locator("code").inner_text().replace(" ", "")
    page.get_by_label("Code", exact=True).fill(code_of(secret))
    ada.follow(page.get_by_role("button", name="App hinzufügen"))
    ada.check_looks(0)

    page.context.clear_cookies()
    ada.open("/admin/login/")
    type_password()
    ada.check_looks(1)
    ada.follow(page.get_by_role("button", name="Passkey verwenden"))
    ada.open(f"{DEMO}/account/")
    assert page.get_by_text("diese Sitzung").is_visible()
    page.context.clear_cookies()
    ada.open("/admin/login/")
    type_password()
    page.get_by_label("Code Ihrer App").fill(code_of(secret, later=1))
    ada.follow(page.get_by_role("button", name="Anmelden"))
    ada.open(f"{DEMO}/account/")
    assert page.get_by_text("diese Sitzung").is_visible()


def code_of(secret: str, later: int = 0) -> str:
    return str(auth.format_hotp_value(auth.hotp_value(secret, int(time.time()) // 30 + later)))
