"""Management commands of the storage app: output, exit codes and errors."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class

from storage.localisation.culture_arguments import culture_argument
from storage.localisation.cultures import CultureSet
from storage.models import ApiToken, StaffAccount, Storage
from storage.provisioning.provision import tenant_row_counts
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import StorageFactory
from tests.shelves.models import Shelf

pytestmark = pytest.mark.django_db
COMMANDS = {
    "storage": [
        "provision_storage",
        "list_storages",
        "remove_storage",
        "issue_token",
        "revoke_token",
        "list_tokens",
        "rotate_token",
        "unblock_sign_in",
        "list_cultures",
        "measure_storages",
        "backup_storage",
        "restore_storage",
        "set_quota",
    ],
    "facets": ["export_template", "update_configuration"],
    "elements": ["import_storage", "export_storage"],
    "release": ["sample_storage", "run_lifecycle", "draw_lifecycle"],
    "repository_site": ["serve", "demo"],
}


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_provision_prints_the_tenant_alone_on_stdout() -> None:
    options = (
        "--title Handbook --cultures 1031,1033 --default-culture 1031 --mandatory-cultures 1031,1033"
        " --region at --time-zone Europe/Vienna --anonymous read"
    )
    out, err = run("provision_storage", "acme", "handbook", *options.split())
    storage = Storage.objects.get()
    assert (out, err) == (f"{storage.id}\n", "acme/handbook is ready.\n")
    assert (storage.title, storage.region, storage.time_zone, storage.anonymous_access) == (
        "Handbook",
        "AT",
        "Europe/Vienna",
        "read",
    )


def test_provisioning_twice_is_an_error_without_exist_ok(storage: Storage) -> None:
    with pytest.raises(CommandError, match="The storage acme/handbook already exists"):
        run("provision_storage", "acme", "handbook")
    assert run("provision_storage", "acme", "handbook", "--exist-ok", "--title", "Other") == (
        f"{storage.id}\n",
        "acme/handbook already exists.\n",
    )
    storage.refresh_from_db()
    assert storage.title == "Handbook"


def test_cultures_are_language_tags_or_ids() -> None:
    cultures = ("--cultures", "fr,en-GB,1031", "--default-culture", "en_gb", "--mandatory-cultures", "FR,en-gb")
    run("provision_storage", "acme", "handbook", *cultures)
    assert Storage.objects.get().culture_set() == CultureSet((1036, 2057, 1031), 2057, (1036, 2057))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("de", 1031), ("de-AT", 3079), ("EN", 1033), ("en_us", 1033), ("es", 3082), ("es-ES", 3082), ("1034", 1034),
        ("pt", 1046), ("zh", 2052), ("kh", 1107),
    ],
)  # fmt: skip
def test_the_culture_of_a_tag(text: str, expected: int) -> None:
    assert culture_argument(text) == expected


@pytest.mark.parametrize(
    ("text", "similar"),
    [
        ("german", " Similar: de-DE (1031), de-CH (2055), de-AT (3079), de-LU (4103), de-LI (5127)."),
        ("gsw-CH", " Similar: gsw-FR (1156)."),
        ("xx", ""), ("127", ""), ("", ""),
    ],
)  # fmt: skip
def test_an_unknown_culture_names_similar_ones_and_the_list(text: str, similar: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        culture_argument(text)
    assert str(caught.value) == (
        f"{text!r} is not a culture; give language tags such as de, en-GB or fr, or LCIDs such as 1031.{similar}"
        " manage.py list_cultures lists all."
    )


def test_list_cultures() -> None:
    assert json.loads(run("list_cultures", "luxembourg", "--json")[0]) == [
        {"id": 4103, "tag": "de-LU", "name": "German (Luxembourg)"},
        {"id": 5132, "tag": "fr-LU", "name": "French (Luxembourg)"},
        {"id": 1134, "tag": "lb-LU", "name": "Luxembourgish (Luxembourg)"},
    ]
    assert len(run("list_cultures")[0].splitlines()) > 200
    with pytest.raises(CommandError, match=r"No culture contains 'klingon'; list all with: manage.py list_cultures"):
        run("list_cultures", "klingon")


def test_a_wrong_call_is_explained_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    command: Any = load_command_class("storage", "rotate_token")
    with pytest.raises(SystemExit) as caught:
        command.run_from_argv(["manage.py", "rotate_token"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "manage.py rotate_token: the following arguments are required: collection, storage, token",
        "Examples:",
        *command.examples.splitlines(),
        "All options: manage.py rotate_token --help",
    ]


def test_problems_are_one_line() -> None:
    with pytest.raises(CommandError) as caught:
        run("provision_storage", "admin", "x y", "--region", "QQ")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(
        "The storage cannot be provisioned. collection: 'admin' is reserved | storage: 'x y' is not a valid id"
    )


def test_list_storages(storage: Storage, other_storage: Storage) -> None:
    out, _ = run("list_storages")
    lines = out.splitlines()
    assert lines[0].split() == [
        "storage", "tenant", "title", "template", "cultures", "region", "timeZone", "anonymous", "isValid", "quotas",
        "collectionQuotas",
        "pastDays", "pastBytes",
    ]  # fmt: skip
    assert lines[1].startswith(f"acme/handbook   {storage.id}  Handbook          plain     1031,1033  DE")
    assert lines[2].startswith(f"rival/handbook  {other_storage.id}  Rival's handbook  plain")
    assert json.loads(run("list_storages", "rival", "--json")[0]) == [
        {
            "storage": "rival/handbook",
            "tenant": str(other_storage.id),
            "title": "Rival's handbook",
            "template": "plain",
            "cultures": [1031, 1033],
            "region": "DE",
            "timeZone": "Europe/Berlin",
            "anonymous": "none",
            "isValid": True,
            "quotas": {},
            "collectionQuotas": {"storages": {"used": 1, "most": 100}},
            "pastDays": 1095,
            "pastBytes": None,
        }
    ]


@pytest.mark.one_node("a command for one server")
def test_one_server_has_no_nodes(storage: Storage) -> None:
    with pytest.raises(CommandError) as caught:
        run("list_storages", "--nodes")
    assert str(caught.value) == (
        "The tables of this database are not distributed: all storages are on the same PostgreSQL server. For a Citus"
        " cluster, run manage.py distribute first."
    )


def test_list_storages_of_an_empty_installation() -> None:
    out, err = run("list_storages")
    assert out == ""
    assert "provision_storage" in err
    assert run("list_storages", "--json")[0] == "[]\n"


def test_remove_shows_a_summary_and_asks(
    storage: Storage, other_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tenant_scope(storage):
        Shelf.objects.create(name="top")
    monkeypatch.setattr("builtins.input", lambda: "yes")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("remove_storage", "acme", "handbook")
    assert Storage.objects.filter(id=storage.id).exists()
    rows = sum(tenant_row_counts(storage).values())
    monkeypatch.setattr("builtins.input", lambda: "acme/handbook")
    _, err = run("remove_storage", "acme", "handbook")
    assert err.splitlines() == [
        f"This deletes acme/handbook (tenant {storage.id}, 'Handbook'):",
        "             0 elements",
        "             0 versions",
        "             0 references",
        "             0 shapes",
        "             0 changes in the history",
        f"  {rows:>12} rows in total",
        "             0 tokens",
        "             0 memberships of staff accounts",
        "  and the collection acme, which would be empty",
        "Type acme/handbook to delete it: acme/handbook was deleted.",
    ]
    assert list(Storage.objects.all()) == [other_storage]


def test_remove_lists_tables_on_request(storage: Storage) -> None:
    with tenant_scope(storage):
        Shelf.objects.create(name="top")
    _, err = run("remove_storage", "acme", "handbook", "--yes", "--verbosity", "2")
    assert "             1 rows of shelves_shelf\n" in err
    assert "             0 rows of elements_element\n" in err


def test_remove_without_a_terminal_deletes_nothing(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_input() -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", no_input)
    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("remove_storage", "acme", "handbook")
    run("remove_storage", "acme", "handbook", "--yes")
    assert not Storage.objects.filter(pk=storage.pk).exists()


def test_tokens_from_issue_to_revocation(api: ApiClient, storage: Storage) -> None:
    value, err = run("issue_token", "acme", "handbook", "--name", "importer", "--role", "editor", "--role", "viewer")
    token = ApiToken.objects.get()
    assert value.startswith("crt_")
    assert value.count("\n") == 1
    assert value.strip() not in err
    assert token.roles == ["viewer", "editor"]
    assert api.get("/acme/handbook/_api/rest/info", token=value.strip()).status_code == 200
    rows = json.loads(run("list_tokens", "acme", "handbook", "--json")[0])
    assert [(row["name"], row["state"], row["roles"]) for row in rows] == [("importer", "active", "viewer,editor")]
    assert str(token.id) in run("list_tokens", "acme", "handbook")[0]
    assert run("revoke_token", "acme", "handbook", "importer")[1] == f"importer ({token.id}) is revoked.\n"
    assert run("revoke_token", "acme", "handbook", str(token.id))[1] == f"importer ({token.id}) was already revoked.\n"
    assert api.get("/acme/handbook/_api/rest/info", token=value.strip()).status_code == 401


def test_valid_until_is_the_end_of_that_day_in_the_storages_zone(storage: Storage) -> None:
    run("issue_token", "acme", "handbook", "--name", "t", "--role", "viewer", "--valid-until", "2099-07-31")
    assert ApiToken.objects.get().valid_until == datetime(2099, 7, 31, 22, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["9999-12-31", "99991231"])
def test_the_last_possible_day_means_no_end(storage: Storage, text: str) -> None:
    run("issue_token", "acme", "handbook", "--name", "t", "--role", "viewer", "--valid-until", text)
    assert ApiToken.objects.get().valid_until is None


def test_an_interrupt_is_reported_in_one_line(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    with pytest.raises(CommandError, match="Interrupted") as caught:
        run("remove_storage", "acme", "handbook")
    assert caught.value.returncode == 130
    assert Storage.objects.filter(pk=storage.pk).exists()


def test_exist_ok_when_another_process_creates_the_storage(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([None, storage])
    monkeypatch.setattr("storage.tenancy.contexts.read_storage", lambda *address: next(answers))
    out, err = run("provision_storage", "acme", "handbook", "--exist-ok")
    assert (out, err) == (f"{storage.id}\n", "acme/handbook already exists.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("list_storages nowhere", "There is no collection nowhere."),
        (
            "issue_token acme handbook --name t --role viewer --valid-until 9999-12-31T23:59:59-08:00",
            "too far in the future",
        ),
        (f"issue_token acme handbook --name {'x' * 201} --role viewer", "name: longer than 200 characters"),
        ("issue_token acme handbook --role viewer --name \udcff", "An argument is not valid UTF-8"),
        (f"provision_storage acme new --title {'x' * 201}", "title: longer than 200 characters"),
        ("provision_storage acme new --default-culture 0", "'0' is not a culture; give language tags such as de"),
        ("serve --bind nonsense", "'nonsense': expected HOST:PORT"),
        ("serve --workers 0", "expected a number from 1 up"),
        ("demo --bind 127.0.0.1:abc", "expected HOST:PORT"),
        (
            "issue_token acme handbok --name t --role viewer",
            "There is no storage acme/handbok; similar: acme/handbook, rival/handbook. List storages: manage.py list_storages",
        ),
        (
            "issue_token acm _admin --name t --role administrator",
            "There is no collection acm; similar: acme. List storages: manage.py list_storages",
        ),
        ("issue_token acme _admin --name t --role viewer", "needs the role administrator"),
        ("issue_token acme handbook --name t --role viewer --valid-until 2001-01-01", "in the past"),
        ("issue_token acme handbook --name t --role emperor", "invalid choice: 'emperor'"),
        ("issue_token acme handbook --name t --role viewer --valid-until soon", "expected a date such as 2027-12-31"),
        ("issue_token acme handbook --name t --role viewer --user nobody", "invalid UUID value"),
        ("issue_token acme handbook --name t", "one of the arguments --role --scim is required"),
        ("revoke_token acme handbook missing", "There is no token 'missing' in acme/handbook."),
        ("provision_storage acme", "required: storage"),
        ("provision_storage acme new --cultures german", "Similar: de-DE (1031), de-CH (2055), de-AT (3079)"),
        ("remove_storage acme nowhere", "There is no storage acme/nowhere."),
    ],
)
def test_wrong_calls(storage: Storage, words: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(*words.split())
    assert message in str(caught.value)
    assert not ApiToken.objects.exists()


def test_two_tokens_of_one_name_need_an_id(storage: Storage) -> None:
    for _ in range(2):
        run("issue_token", "acme", "handbook", "--name", "twin", "--role", "viewer")
    with pytest.raises(CommandError, match="Several tokens are named 'twin'"):
        run("revoke_token", "acme", "handbook", "twin")


def test_tokens_of_another_storage_are_not_found(storage: Storage, other_storage: Storage) -> None:
    run("issue_token", "rival", "handbook", "--name", "theirs", "--role", "viewer")
    with pytest.raises(CommandError, match="There is no token"):
        run("revoke_token", "acme", "handbook", str(ApiToken.objects.get().id))
    assert run("list_tokens", "acme", "handbook") == (
        "",
        "There are no tokens. Issue one: manage.py issue_token acme handbook --name importer --role editor\n",
    )


@pytest.mark.parametrize(("app", "name"), [(app, name) for app, names in COMMANDS.items() for name in names])
def test_help_shows_examples(app: str, name: str) -> None:
    command: Any = load_command_class(app, name)
    text = command.create_parser("manage.py", name).format_help()
    assert "Examples:" in text
    assert f"manage.py {name}" in text.partition("Examples:")[2]


@pytest.mark.long
def test_the_demo_is_set_up_once_and_again(api: ApiClient, settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    first, _ = run("demo", "--no-serve")
    again, _ = run("demo", "--no-serve")
    assert first == again
    assert api.get("/demo/showcase/_api/rest/info").status_code == 200
    token = first.partition("API token")[2].split()[0]
    assert api.get("/demo/showcase/_api/rest/info", token=token).status_code == 200
    password = first.partition("login: admin / ")[2].split()[0]
    assert api.login(username="admin", password=password)
    assert (tmp_path / "demo-credentials.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_the_demo_leaves_a_changed_password_alone(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    run("demo", "--no-serve")
    account = StaffAccount.objects.get()
    account.set_password("my own password")
    account.save()
    assert "with the password that you set" in run("demo", "--no-serve")[0]


def test_storages_made_by_the_factory_are_listed_in_order() -> None:
    for key in ("b", "a"):
        StorageFactory.create(key=key)
    assert [line.split()[0] for line in run("list_storages")[0].splitlines()[1:]] == ["acme/a", "acme/b"]
