"""Content that was meant to stop a worker is accepted, refused or shown. `tests/attack/test_growth.py` measures it."""

from __future__ import annotations

import time

import pytest
from django.test import Client

from elements.models import ElementVersion
from elements.values.html import DECLARATION
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.elements.office import Office
from tests.elements.update_desk import Body, UpdateDesk

pytestmark = pytest.mark.django_db
DEEP = f"{DECLARATION}{'<div>' * 30_000}Text{'</div>' * 30_000}"


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def described(text: str) -> Body:
    return {"id": ID["order"], "attributes": {"description": {"1033": text}}}


def store(storage: Storage, version: str, **attributes: str) -> None:
    values = {name: {"1033": text, "1031": text[::-1]} for name, text in attributes.items()}
    with tenant_scope(storage):
        ElementVersion.objects.filter(id=ID[version]).update(attributes={"name": {"1033": "Order"}, **values})


def test_many_style_sheets(desk: UpdateDesk) -> None:
    text = DECLARATION + "<style>a{}</style>" * 2_000
    assert desk.update(described(text))[0]["attributes"]["description"] == {"1033": text}


@pytest.mark.long
def test_quotes_and_backslashes_cost_as_little_as_letters(desk: UpdateDesk) -> None:
    def seconds(text: str) -> float:
        desk.update(described(DECLARATION))
        started = time.thread_time()
        stored = desk.update(described(DECLARATION + text))[0]["attributes"]["description"]
        spent = time.thread_time() - started
        assert stored == {"1033": DECLARATION + text}
        return spent

    letters = min(seconds("abcd" * 50_000) for _ in range(3))
    assert min(seconds('"\\' * 100_000) for _ in range(3)) < 5 * letters


def test_deep_markup_is_refused(desk: UpdateDesk) -> None:
    response = desk.send({"elements": [described(DEEP)]})
    text = "must not nest elements deeper than 100 levels; remove some of the enclosing elements (line 1, column 501)"
    assert response.status_code == 422
    assert response.json()["message"] == f"elements[0] {ID['order']}: description[1033]: {text}."


@pytest.mark.long
def test_deep_markup_that_is_stored_can_be_posted_back_and_is_shown_flat(desk: UpdateDesk, handbook: Storage) -> None:
    with tenant_scope(handbook):
        for version in ("order-2", "order-3"):
            deep = {"name": {"1033": "Order"}, "description": {"1033": DEEP}}
            ElementVersion.objects.filter(id=ID[version]).update(attributes=deep)
    assert desk.update(described(DEEP))[0]["attributes"]["description"] == {"1033": DEEP}
    page = Client().get(f"/acme/handbook/1033/processes/{ID['order']}")
    assert f"{'<div>' * 100}Text{'</div>' * 100}" in page.content.decode()


def test_comparing_texts_of_few_different_words(handbook: Storage) -> None:
    texts = "one two " * 130, "two one " * 130
    store(handbook, "order-2", description=texts[0], scope=texts[0])
    store(handbook, "order-3", description=texts[1], scope=texts[1])
    page = Office(handbook, *Role).element(ID["order"], tab="versions")
    for language in ("English", "German"):
        assert page.count(f"Label ({language}) changed") == 2
