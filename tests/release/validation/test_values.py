"""Validation rules: values that count as given, and values that count as blank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facets.blueprint.definitions import ElementType
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from storage.models import Culture, Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, HouseClient, Wire, error, one, user
from tests.release.stored_contents import undone
from tests.release.validation_rules import (
    BY_QA,
    EXTERNAL,
    IMAGE,
    OWNER,
    REASON,
    RELEASE,
    at,
    found_by,
    give,
    renew_configuration,
)

pytestmark = pytest.mark.django_db
# Values that count as given.

BLANK_TEXTS = ("", " ", "\n\t", "\u00a0", "\u2003 \u3000", "\x1c")
TEXTS = ("x", " x ", "0", "null", "\u200b", "-")
VALUES: list[tuple[str, Wire | None, bool]] = [
    *(("scope", {"1031": text}, False) for text in BLANK_TEXTS),
    *(("scope", {"1033": text}, True) for text in TEXTS),
    ("scope", {"1031": " ", "1033": ""}, False),
    ("scope", {"1031": " ", "1033": "x"}, True),
    ("scope", {"1031": None, "1033": None}, False),
    ("scope", {}, False),
    ("scope", None, False),
    ("workshopImages", {"127": []}, False),
    ("workshopImages", {"127": None}, False),
    ("workshopImages", {"127": [IMAGE]}, True),
    ("processMaturity", {"127": "isLived"}, True),
    ("processMaturity", {"127": ""}, False),
    ("processMaturity", {"127": None}, False),
]


def test_values_count_as_in_the_filter_language(caller: HouseClient, house: Storage) -> None:
    list_address = "rest/facets/processes/views/detail/elements?$resources=rootPath&$filter="
    for name, value, is_there in VALUES:
        with undone():
            give(house, "inProcess-1", **{name: value})
            response = caller.apply("inProcess", EXTERNAL)
            missing = at(f"{name} is missing ({name})") in error(response)[3]
            filtered = caller.get(f"{list_address}IsNull({name}) AND id eq '{ID['inProcess']}'").json()["count"]
            assert (missing, filtered) == (not is_there, int(not is_there)), (name, value)


def test_values_in_a_culture_that_the_storage_no_longer_has_do_not_count(caller: HouseClient, house: Storage) -> None:
    """Filters ignore them too."""
    give(house, "inProcess-1", reasonForRevision={"1031": "Grund"})
    Culture.objects.filter(storage=house, lcid=1031).delete()
    renew_configuration(house)
    address = "rest/facets/processes/views/detail/elements?$resources=rootPath&$filter="
    filtered = caller.get(f"{address}IsNull(reasonForRevision) AND id eq '{ID['inProcess']}'")
    assert filtered.json()["count"] == 1
    found_by(
        caller.apply("inProcess", RELEASE),
        (),
        [at(REASON)],
        "The element has 1 warning.",
    )


def test_a_rule_per_culture_on_a_type_with_an_invariant_value(caller: HouseClient, house: Storage) -> None:
    """Processes have a purpose in each culture; systems have one for all."""
    with tenant_scope(house):
        old = read_blueprint()
    change_configuration(
        house,
        replace(old, types=tuple(_with_one_purpose(each) if each.key == "system" else each for each in old.types)),
    )
    new = caller.new_version("erp")["versionId"]
    give(house, new, {"owner": ["ben"]}, name={"1031": "ERP", "1033": "ERP"}, reasonForRevision={"1033": "x"})
    warning = [at("purp is missing (purp)", new, "system")]
    for value, is_there in (
        (None, False), ({}, False), ({"127": None}, False), ({"127": " "}, False), ({"127": "Books"}, True),
    ):  # fmt: skip
        with undone():
            give(house, new, purp=value)
            response = caller.apply("erp", BY_QA)
            if is_there:
                assert one(response)["state"] == "released"
            else:
                found_by(
                    response,
                    (),
                    warning,
                    "The element has 1 warning.",
                )
    give(house, "inProcess-1", purp=None)
    warnings = [at(f"purp is missing (purp[{lcid}])") for lcid in (1031, 1033)]
    found_by(
        caller.apply("inProcess", BY_QA),
        (),
        warnings,
        "The element has 2 warnings.",
    )


def _with_one_purpose(type: ElementType) -> ElementType:
    properties = tuple(
        replace(each, attribute=replace(each.attribute, is_invariant_culture=True))
        if each.key == "purp" and each.attribute
        else each
        for each in type.properties
    )
    assert properties != type.properties
    return replace(type, properties=properties)


def test_false_and_zero_are_values(caller: HouseClient, house: Storage) -> None:
    """For values other than texts and lists, only null counts as missing."""
    new = caller.new_version("erp")["versionId"]
    for value, is_there in ((0, True), (False, True), (None, False)):
        with undone():
            give(house, new, vendor={"127": value})
            response = caller.apply("erp", EXTERNAL)
            assert (at("vendor is missing (vendor)", new, "system") not in error(response)[3]) is is_there


def test_blank_values_written_by_clients(caller: HouseClient, house: Storage) -> None:
    """Through the API, which stores texts as they are."""
    blank: Wire = {
        "attributes": {"name": {"1031": " \n ", "1033": ""}, "reasonForRevision": {"1031": "\t", "1033": None}},
        "related": {"owner": []},
    }
    assert one(caller.update({"id": ID["inProcess"], **blank}))["attributes"]["name"] == {"1031": " \n ", "1033": ""}
    no_name = [at(f"no name is given (name[{lcid}])") for lcid in ("1031", "1033")]
    message = "The element has 2 errors and 2 warnings."
    found_by(caller.apply("inProcess", RELEASE), no_name, [at(OWNER), at(REASON)], message)
    filled: Wire = {
        "attributes": {"name": {"1031": "Auftrag", "1033": "Order"}, "reasonForRevision": {"1031": "Neu"}},
        "related": {"owner": [user("dora")]},
    }
    assert caller.update({"id": ID["inProcess"], **filled}).status_code == 200
    assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
