"""Messages of domain code: pages translate them for their readers, the API returns them in English."""

from __future__ import annotations

import pytest

from elements.models import ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.elements.office import Office, main_text
from tests.factories import token_for

pytestmark = pytest.mark.django_db
VERSION = ID["order-2"]


def test_the_api_reports_problems_in_english(handbook: Storage, api: ApiClient) -> None:
    address = f"/acme/handbook/_api/rest/facets/processes/views/detail/elements/{VERSION}/delete"
    token = token_for(handbook, Role.ARCHITECT)
    response = api.generic("POST", address, token=token, headers={"Accept-Language": "de"})
    assert response.status_code == 409
    assert response.json()["message"] == f"{VERSION}: it has been released; let it expire instead."


def test_a_page_reports_problems_in_its_language(handbook: Storage) -> None:
    office = Office(handbook, Role.ARCHITECT, language="de")
    with tenant_scope(handbook):
        revision = ElementVersion.objects.get(id=VERSION).revision
    response = office.post(f"elements/element/{VERSION}/delete/?version={VERSION}", {"revision": str(revision)})
    assert response.status_code == 409
    text = main_text(response)
    assert "es wurde freigegeben; bitte stattdessen ablaufen lassen." in text
    assert "released" not in text
