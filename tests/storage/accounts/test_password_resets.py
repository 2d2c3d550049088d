"""Password reset by mail (D551)."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from storage.models import IdentityProvider, StaffAccount
from tests.jobs import run_jobs, waiting_jobs
from tests.mail_server import MailRoom
from tests.storage.accounts.conftest import mailed
from tests.storage.office import signed_in

pytestmark = pytest.mark.django_db
PAGE = "/admin/password/"
NEW = "another long password"
SENT = "If an account has this address, a mail with a link is on its way. The link is valid for 60 minutes."


def ask(address: str, network: str = "192.0.2.1") -> Any:
    return Client().post(PAGE, {"address": address}, REMOTE_ADDR=network, follow=True)


def text_of(response: Any) -> str:
    return str(response.content.decode())


def test_a_mailed_link_sets_a_password_once(room: MailRoom, alex: StaffAccount) -> None:
    assert 'href="/admin/password/"' in text_of(Client().get("/acme/handbook/admin/login/"))
    other = signed_in(alex)
    assert SENT in text_of(ask("ALEX@example.org"))
    assert "alex" not in repr(waiting_jobs()).lower()
    address, text, path = mailed(room)
    assert (address, text) == (
        "alex@example.org",
        "Somebody wants to set a new password for the account alex at repository.example.org.\n"
        "Open this page within 60 minutes to choose the password:\nLINK\n\n"
        "If it was not you, ignore this mail; nothing changes.\n",
    )
    browser = Client()
    page = browser.get(path, follow=True)
    [(form, status)] = page.redirect_chain
    assert (status, form.endswith("/set-password/"), "for the account alex" in text_of(page)) == (302, True, True)
    wrong = browser.post(form, {"new_password1": "short", "new_password2": "short"})
    assert (wrong.status_code, "too short" in text_of(wrong)) == (422, True)
    done = browser.post(form, {"new_password1": NEW, "new_password2": NEW}, follow=True)
    assert "All sessions of your account have ended." in text_of(done)
    alex.refresh_from_db()
    assert alex.check_password(NEW)
    assert other.get("/acme/handbook/admin/").status_code == 302
    assert not Session.objects.filter(session_key=other.session.session_key).exists()
    assert "_auth_user_id" not in browser.session
    assert Client().get(path).status_code == 410


def test_unknown_addresses_get_the_same_answer(room: MailRoom, alex: StaffAccount) -> None:
    statements: list[int] = []
    answers: list[Any] = []
    for address in ("alex@example.org", "nobody@example.org"):
        with CaptureQueriesContext(connection) as queries:
            answer = ask(address, network=f"192.0.2.{len(answers) + 1}")
        statements.append(len(queries))
        answers.append((answer.status_code, answer.content, answer.redirect_chain))
    assert answers[0] == answers[1]
    assert statements[0] == statements[1]
    assert [name for name, _ in waiting_jobs()] == ["accounts.reset_password"] * 2
    run_jobs()
    assert [address for address, _ in room.empty()] == ["alex@example.org"]
    assert ask("no address").status_code == 422


def test_requests_and_mails_are_limited(room: MailRoom, alex: StaffAccount) -> None:
    answers = [ask("alex@example.org").status_code for _attempt in range(6)]
    assert answers == [200] * 5 + [429]
    for number in range(2, 5):
        ask("alex@example.org", f"192.0.2.{number}")
    run_jobs()
    assert len(room.empty()) == 5


def test_accounts_without_passwords(room: MailRoom, alex: StaffAccount, settings: Any) -> None:
    ask("alex@example.org")
    path = mailed(room)[2]
    provider = IdentityProvider.objects.create(
        key="acme", name="Acme ID", issuer="https://id.example.org", client_id="x", mail_domains=["example.org"]
    )
    IdentityProvider.objects.update(refuses_passwords=True)
    assert Client().get(path).status_code == 410
    ask("alex@example.org")
    assert "Passwords are switched off for your mail domain. Sign in with Acme ID:" in mailed(room)[1]
    provider.delete()
    alex.set_unusable_password()
    alex.save()
    ask("alex@example.org")
    assert "The account has no password." in mailed(room)[1]
    StaffAccount.objects.update(is_active=False)
    ask("alex@example.org")
    run_jobs()
    assert room.empty() == []
    settings.MAIL_SERVER = None
    page = Client().post(PAGE, {"address": "alex@example.org"})
    assert (page.status_code, "Ask a site administrator" in text_of(page), waiting_jobs()) == (200, True, [])
