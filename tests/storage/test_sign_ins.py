"""Protection of every sign-in form against guessing (D146)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from io import StringIO
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from structlog.testing import capture_logs

from storage.access.sign_ins import SignInBlocked, begin_attempt
from storage.models import FailedSignIn, StaffAccount, Storage, StorageMembership
from tests.storage.office import errors, signed_in, site_administrator

pytestmark = pytest.mark.django_db
SITE, STORAGE = "/admin/login/", "/acme/handbook/admin/login/"
PASSWORD = "the one that is right"
WRONG = [
    "Please enter the correct username and password for a staff account. Note that both fields may be case-sensitive."
]
WAIT = (
    "Signing in has failed too often from your address. Try again in 15 minutes, or ask an administrator of the site"
    " to lift the block."
)


@pytest.fixture(autouse=True)
def quick_hashing(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def jo(storage: Storage) -> StaffAccount:
    account = StaffAccount.objects.create_user("jo", password=PASSWORD, is_staff=True)
    StorageMembership.objects.create(account=account, storage=storage, roles=["editor"])
    return account


def sign_in(
    name: str = "jo", password: str = "wrong", at: str = SITE, address: str = "192.0.2.1", **headers: str
) -> Any:
    given = {"username": name, "password": password}
    return Client().post(at, given, REMOTE_ADDR=address, headers=headers)


def told(response: Any) -> tuple[int, list[str], str | None]:
    """Return the status, the errors of the page, and Retry-After."""
    return response.status_code, errors(response.content.decode()), response.get("Retry-After")


@pytest.mark.parametrize("name", ["jo", "nobody-has-this-name"])
def test_five_failures_block_known_and_unknown_names(jo: StaffAccount, name: str) -> None:
    for _attempt in range(5):
        response = sign_in(name)
        assert (response.status_code, response.context_data["form"].non_field_errors()) == (200, WRONG)
    response = sign_in(name, PASSWORD)
    assert response.status_code == 429
    assert response.context_data["form"].non_field_errors() == [WAIT]
    assert WAIT in response.content.decode()
    assert 890 <= int(response["Retry-After"]) <= 900
    assert "_auth_user_id" not in response.client.session


@pytest.mark.parametrize("office", ["/admin/", "/acme/handbook/admin/"])
def test_the_password_form_counts_as_well(jo: StaffAccount, office: str) -> None:
    jo.is_superuser = True
    jo.save()
    browser, new = signed_in(jo), "another one that is right"

    def change(old: str) -> Any:
        given = {"old_password": old, "new_password1": new, "new_password2": new}
        return browser.post(f"{office}password_change/", given, follow=True, REMOTE_ADDR="192.0.2.1")

    assert change("").context_data["form"].has_error("old_password", "required")
    for _attempt in range(5):
        assert change("wrong").context_data["form"].has_error("old_password", "password_incorrect")
    blocked = change(PASSWORD)
    assert (blocked.status_code, WAIT in blocked.content.decode()) == (429, True)
    assert 890 <= int(blocked["Retry-After"]) <= 900
    assert blocked.wsgi_request.method == "POST"
    assert sign_in("jo", PASSWORD).status_code == 429
    jo.refresh_from_db()
    assert jo.check_password(PASSWORD)
    FailedSignIn.objects.all().delete()
    assert change(PASSWORD).redirect_chain == [(f"{office}password_change/done/", 302)]
    assert [each.failures for each in FailedSignIn.objects.all()] == [0]


@pytest.mark.long
def test_the_page_speaks_german(jo: StaffAccount) -> None:
    for _attempt in range(5):
        sign_in()
    page = sign_in(**{"Accept-Language": "de"})
    assert page.context_data["form"].non_field_errors() == [
        "Die Anmeldung ist von Ihrer Adresse aus zu oft fehlgeschlagen. Versuchen Sie es in 15 Minuten wieder, oder"
        " bitten Sie einen Systemadministrator, die Sperre aufzuheben."
    ]


@pytest.mark.long
def test_the_forms_count_together(jo: StaffAccount) -> None:
    """The forms of the site and of a storage, also when the reader pages lead there."""
    for _attempt in range(3):
        sign_in(at=STORAGE)
    for _attempt in range(2):
        sign_in(at=SITE)
    reader = Client().get("/acme/handbook/", REMOTE_ADDR="192.0.2.1")
    assert reader["Location"].partition("?")[0] == STORAGE
    for at in (SITE, STORAGE, reader["Location"]):
        assert sign_in(password=PASSWORD, at=at).status_code == 429


@pytest.mark.long
def test_other_networks_and_names_are_not_blocked(jo: StaffAccount) -> None:
    """Guessing from elsewhere does not block the account, and typing errors do not block a colleague."""
    StaffAccount.objects.create_user("kim", password=PASSWORD, is_staff=True)
    for _attempt in range(6):
        sign_in()
    assert sign_in(password=PASSWORD).status_code == 429
    assert sign_in(password=PASSWORD, address="192.0.2.2").status_code == 302
    assert sign_in("kim", PASSWORD).status_code == 302


@pytest.mark.long
def test_more_attempts_do_not_extend_a_block(jo: StaffAccount) -> None:
    for _attempt in range(5):
        sign_in()
    before = list(FailedSignIn.objects.values())
    for _attempt in range(3):
        assert sign_in().status_code == 429
    assert list(FailedSignIn.objects.values()) == before
    FailedSignIn.objects.update(since=timezone.now() - timedelta(minutes=15))
    assert sign_in(password=PASSWORD).status_code == 302


@pytest.mark.long
def test_failures_expire_with_their_window(jo: StaffAccount) -> None:
    for _attempt in range(4):
        sign_in()
    FailedSignIn.objects.update(since=timezone.now() - timedelta(minutes=15))
    sign_in()
    assert set(FailedSignIn.objects.values_list("failures", flat=True)) == {1}


@pytest.mark.long
def test_signing_in_clears_the_name_and_takes_its_own_attempt_back(jo: StaffAccount) -> None:
    for _attempt in range(4):
        sign_in()
    assert sign_in(password=PASSWORD).status_code == 302
    assert [(row.account, row.failures) for row in FailedSignIn.objects.all()] == [(None, 4)]


@pytest.mark.long
def test_a_valid_account_gives_no_more_guesses(jo: StaffAccount, settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = 6
    StaffAccount.objects.create_user("mallory", password=PASSWORD, is_staff=True)
    for number in range(6):
        assert sign_in(f"name-{number}").status_code == 200
        assert sign_in("mallory", PASSWORD).status_code == (302 if number < 5 else 429)


@pytest.mark.long
def test_a_session_of_another_account_does_not_make_a_guess_right(jo: StaffAccount) -> None:
    mallory = StaffAccount.objects.create_user("mallory", password=PASSWORD, is_staff=True)
    client = signed_in(mallory)
    answers = [client.post(SITE, {"username": "jo", "password": "guess"}).status_code for _attempt in range(6)]
    assert answers == [200] * 5 + [429]


@pytest.mark.long
def test_an_address_is_blocked_for_all_names(jo: StaffAccount, settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = 3
    for number in range(3):
        assert sign_in(f"name-{number}").status_code == 200
    assert sign_in(password=PASSWORD).status_code == 429
    assert FailedSignIn.objects.count() == 4
    assert sign_in("one more name").status_code == 429
    assert FailedSignIn.objects.count() == 4


@pytest.mark.long
def test_ipv6_is_counted_by_the_network_of_a_customer(jo: StaffAccount) -> None:
    for number in range(5):
        sign_in(address=f"2001:db8:1:2::{number}")
    assert sign_in(password=PASSWORD, address="2001:db8:1:2:ffff::1").status_code == 429
    assert sign_in(password=PASSWORD, address="2001:db8:1:3::1").status_code == 302


@pytest.mark.long
def test_forwarded_addresses_count_when_the_proxy_is_trusted_and_only_then(jo: StaffAccount, settings: Any) -> None:
    for number in range(5):
        sign_in(**{"X-Forwarded-For": f"198.51.100.{number}"})
    assert sign_in(password=PASSWORD, **{"X-Forwarded-For": "198.51.100.9"}).status_code == 429
    settings.TRUSTED_PROXIES = (ip_network("192.0.2.1"),)
    assert sign_in(password=PASSWORD, **{"X-Forwarded-For": "192.0.2.1, 198.51.100.9"}).status_code == 302
    for _attempt in range(5):
        sign_in(**{"X-Forwarded-For": "198.51.100.10"})
    assert sign_in(password=PASSWORD, **{"X-Forwarded-For": "10.0.0.1, 198.51.100.10"}).status_code == 429


@pytest.mark.long
def test_typed_names_are_not_stored(jo: StaffAccount) -> None:
    sign_in("my password, in the wrong field")
    assert "password" not in repr(list(FailedSignIn.objects.values()))


@pytest.mark.long
def test_empty_fields_do_not_count(jo: StaffAccount) -> None:
    assert sign_in("", "").status_code == 200
    assert sign_in("jo", "").status_code == 200
    assert not FailedSignIn.objects.exists()


@pytest.mark.long
def test_the_log_names_existing_accounts_only(jo: StaffAccount, settings: Any) -> None:
    settings.SIGN_IN_FAILURES = 1
    with capture_logs() as logs:
        for name in ("jo", "jo", "a password"):
            sign_in(name)
    found = [each for each in logs if each["event"].startswith("sign-in")]
    assert datetime.fromisoformat(found[1].pop("until")) > timezone.now()
    line = {"log_level": "warning", "network": "192.0.2.1"}
    assert found == [
        {**line, "event": "sign-in failed", "account": "jo"},
        {**line, "event": "sign-in blocked", "account": "jo"},
        {**line, "event": "sign-in failed", "account": None},
    ]


@pytest.mark.long
def test_old_rows_are_deleted(jo: StaffAccount) -> None:
    sign_in(address="192.0.2.9")
    FailedSignIn.objects.update(since=timezone.now() - timedelta(days=1, minutes=1))
    sign_in(address="192.0.2.8")
    assert set(FailedSignIn.objects.values_list("network", flat=True)) == {"192.0.2.8"}


@pytest.mark.django_db(transaction=True)
def test_parallel_attempts_give_no_more_guesses() -> None:
    start = threading.Barrier(8)

    def guess(number: int) -> bool:
        start.wait()
        try:
            begin_attempt("jo", "192.0.2.1")
        except SignInBlocked:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(guess, range(8))) == 5


# Staff


@pytest.mark.long
def test_site_administrators_see_and_lift(jo: StaffAccount) -> None:
    for _attempt in range(5):
        sign_in()
    sign_in("nobody")
    browser = site_administrator()
    page = browser.get("/admin/storage/failedsignin/").content.decode()
    for text in ("jo", "192.0.2.1", "all names", "unknown account", "Blocked until", "Counting"):
        assert text in page
    rows = list(FailedSignIn.objects.filter(account=jo).values_list("pk", flat=True))
    given = {"action": "lift", "_selected_action": rows}
    done = browser.post("/admin/storage/failedsignin/", given, follow=True)
    assert "1 failure has been deleted." in done.content.decode()
    assert sign_in(password=PASSWORD).status_code == 302


@pytest.mark.long
def test_other_staff_do_not_see_them(jo: StaffAccount) -> None:
    sign_in()
    assert signed_in(jo).get("/admin/storage/failedsignin/").status_code == 403


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("unblock_sign_in", *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.long
def test_the_command_lists_and_lifts(jo: StaffAccount) -> None:
    assert run() == ("", "No account and no address is blocked.\n")
    for address in ("192.0.2.1", "2001:db8::1"):
        for _attempt in range(5):
            sign_in(address=address)
    ends = [row.counts_until.isoformat(timespec="seconds") for row in FailedSignIn.objects.filter(account=jo)]
    out, err = run()
    assert out == (
        f"2001:db8::/64  jo  until {ends[0].replace('+00:00', 'Z')}\n"
        f"192.0.2.1  jo  until {ends[1].replace('+00:00', 'Z')}\n"
    )
    assert err == ""
    assert run("--address", "2001:db8::7") == (
        "",
        "Deleted 2 record(s) of failed sign-ins; 1 of them blocked signing in.\n",
    )
    assert run("--account", "jo") == ("", "Deleted 1 record(s) of failed sign-ins; 1 of them blocked signing in.\n")
    assert run("--all") == ("", "Deleted 1 record(s) of failed sign-ins; 0 of them blocked signing in.\n")
    assert not FailedSignIn.objects.exists()


def fail(name: str, address: str, times: int) -> None:
    for _attempt in range(times):
        with suppress(SignInBlocked):
            begin_attempt(name, address)


def test_unblocking_an_account_unblocks_its_addresses(jo: StaffAccount, settings: Any) -> None:
    """Addresses that are blocked for all names are included; other addresses and names stay blocked."""
    settings.SIGN_IN_FAILURES_PER_ADDRESS = 7
    for address in ("192.0.2.1", "192.0.2.2"):
        fail("jo" if address == "192.0.2.1" else "kim", address, 5)
        fail("nobody", address, 2)
    fail("jo", "192.0.2.3", 2)
    assert run("--account", "jo") == ("", "Deleted 3 record(s) of failed sign-ins; 2 of them blocked signing in.\n")
    begin_attempt("jo", "192.0.2.1").succeeded()
    left = FailedSignIn.objects.order_by("network", "failures").values_list("network", "failures")
    assert list(left) == [
        ("192.0.2.1", 0),
        ("192.0.2.1", 2),
        ("192.0.2.2", 2),
        ("192.0.2.2", 5),
        ("192.0.2.2", 7),
        ("192.0.2.3", 2),
    ]


def test_unblocking_an_account_hints_at_a_blocked_address(jo: StaffAccount, settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = 3
    fail("nobody", "192.0.2.1", 3)
    fail("jo", "192.0.2.1", 1)
    hint = "The address may be blocked for all names. List those: manage.py unblock_sign_in\n"
    assert run("--account", "jo") == (
        "",
        f"Deleted 0 record(s) of failed sign-ins; 0 of them blocked signing in.\n{hint}",
    )
    done = "Deleted 1 record(s) of failed sign-ins; 1 of them blocked signing in.\n"
    assert run("--account", "jo", "--address", "192.0.2.1") == ("", done)
    begin_attempt("jo", "192.0.2.1").succeeded()


@pytest.mark.long
def test_the_command_refuses_an_invalid_address() -> None:
    with pytest.raises(CommandError, match="'jo' is not an IP address"):
        run("--address", "jo")
