"""Validation: languages of messages, and rules that change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facets.blueprint.cycles import Severity, ValidationRule
from facets.blueprint.texts import texts
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from release.models import LifecycleEntry
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.release.house import ID, HouseClient, error, one
from tests.release.stored_contents import undone
from tests.release.validation_rules import OWNER, REASON, RELEASE, at, bare, found_by, give

pytestmark = pytest.mark.django_db
# Languages.

GERMAN = ["kein Verantwortlicher ist eingetragen (owner)", "kein Änderungsgrund ist angegeben (reasonForRevision)"]
ENGLISH = [OWNER, REASON]


def test_messages_are_in_the_language_of_the_caller(caller: HouseClient, house: Storage) -> None:
    bare(house)
    address = f"release/{ID['inProcess']}/transitions/{RELEASE}"
    for accepted, expected in (
        ("de", GERMAN), ("de-DE", GERMAN), ("de-CH, en;q=0.5", GERMAN), ("fr, de;q=0.3", GERMAN), ("DE", GERMAN),
        ("en", ENGLISH), ("en-GB, de;q=0.9", ENGLISH), ("fr", ENGLISH), ("", ENGLISH), ("de;q=0, fr", ENGLISH),
        ("*", ENGLISH), ("no language, at all;;", ENGLISH),
    ):  # fmt: skip
        response = caller.post(address, **{"Accept-Language": accepted})
        assert error(response) == (422, "warning", "dialog", [at(each) for each in expected]), accepted
        assert response.json()["message"].startswith("The element has 2 warnings. ")
    found_by(caller.post(address), (), [at(each) for each in ENGLISH], "The element has 2 warnings.")


def test_the_log_has_one_language_for_all_callers(caller: HouseClient, house: Storage) -> None:
    bare(house)
    address = f"release/{ID['inProcess']}/transitions/{RELEASE}?ignoreWarnings=true"
    for accepted in ("de", "en", "fr, de;q=0.3", ""):
        with undone():
            assert one(caller.post(address, **{"Accept-Language": accepted}))["state"] == "released"
            [step] = caller.steps("inProcess")
            assert step["ignoredWarnings"] == [at(each) for each in ENGLISH], accepted
            with tenant_scope(house):
                assert LifecycleEntry.objects.get().ignored_warnings == step["ignoredWarnings"]


def test_changed_rules_apply_to_the_next_request(
    caller: HouseClient, house: Storage, api: ApiClient, rival: Storage
) -> None:
    address = f"release/{ID['inProcess']}/transitions/{RELEASE}"
    with undone():
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
    bare(house)
    give(house, "inProcess-1", name=None)
    assert len(error(caller.post(address))[3]) == 4
    with tenant_scope(house):
        old = read_blueprint()
    guided = ValidationRule(
        "guided", "guidelines", Severity.ERROR, texts({1036: "pas de règle", 1031: "Regel fehlt"}), states=("released",)
    )
    checked = ValidationRule(
        "checked", "qualityManager", Severity.WARNING, texts({1033: "nobody checks"}),
        transitions=("ReadyForReleaseToReleased",),
    )  # fmt: skip
    kept = [each for each in old.rules if each.key not in ("name", "owner")]
    change_configuration(house, replace(old, rules=(*kept, guided, checked)))
    # Without an English text the message is in a language of the storage, which French is not, whatever the caller
    # prefers (D40). The rules about names and owners are gone.
    errors, warnings = [at("Regel fehlt (guidelines)")], [at(REASON)]
    found_by(caller.post(address), errors, warnings, "The element has 1 error and 1 warning.")
    response = caller.post(address, **{"Accept-Language": "fr, de;q=0.9"})
    assert error(response)[3] == [at("Regel fehlt (guidelines)"), at(GERMAN[1])]
    response = caller.apply("readyForRelease", "ReadyForReleaseToReleased")
    version = "readyForRelease-1"
    found_by(response, [at("Regel fehlt (guidelines)", version)], [at("nobody checks (qualityManager)", version)],
             "The element has 1 error and 1 warning.")  # fmt: skip
    # Other storages keep their own rules.
    with undone():
        token = token_for(rival, Role.ADMINISTRATOR)
        response = api.post(f"/rival/house/_api/{address}", b"", content_type="application/json", token=token)
        assert one(response)["state"] == "released"
