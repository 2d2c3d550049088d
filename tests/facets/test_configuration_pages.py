"""Comparison with the template, export, and the number of statements of all configuration pages."""

from __future__ import annotations

import json
import re
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from lxml.html import document_fromstring

from facets import models
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from facets.template_format.reading import read_template
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.facets.office_forms import ConfigurationOffice, address, changed, form_of
from tests.facets.small_template import SMALL, small_template

pytestmark = pytest.mark.django_db
OLD = read_template(SMALL)


@pytest.fixture
def office(small: Storage, small_file: Path, monkeypatch: pytest.MonkeyPatch) -> ConfigurationOffice:
    """The back office of a storage whose template is installed."""
    monkeypatch.setattr("storage.provisioning.templates.TEMPLATE_DIR", small_file.parent)
    return ConfigurationOffice(small, Role.ADMINISTRATOR)


def test_the_export_equals_the_output_of_the_command(small: Storage, office: ConfigurationOffice) -> None:
    printed = StringIO()
    call_command("export_template", "acme", "small", stdout=printed)
    response = office.get("configuration/export/")
    assert response.content.decode() == printed.getvalue()
    assert response["Content-Disposition"] == 'attachment; filename="acme-small.json"'
    assert read_template(json.loads(response.content)) == OLD


def test_a_storage_that_matches_its_template(office: ConfigurationOffice) -> None:
    assert "The configuration of the storage equals its template." in office.page("configuration/compare/")


def test_differences_from_the_template(small: Storage, office: ConfigurationOffice) -> None:
    document = small_template(
        **{
            "types.box.displayNames": {"1031": "Kiste", "1033": "Box"},
            "types.person.properties.1": None,
            "types.Thing.hasDiagram": False,
            "types.Thing.insertables": None,
            "layouts.new": {"displayNames": {"1033": "New"}},
        }
    )
    change_configuration(small, read_template(document))
    page = office.page("configuration/compare/")
    rows = [" ".join(part.split("</tr>")[0].split()) for part in page.split('<tr><th scope="row">')[1:]]
    shown = [re.sub(r"(<[^>]*>\s*)+", "|", row).strip("|") for row in rows]
    assert shown == [
        "Has a diagram|yes|no",
        "Insertable types|dot|nothing",
        "Names|nothing|1031|Kiste",
        "Properties › age|only there|–",
    ]
    assert "only in this storage" in page


def test_restoring_one_entry_from_the_template(small: Storage, office: ConfigurationOffice) -> None:
    document = small_template(**{"types.box.color": "#FFFFFF", "types.dot.color": "#FFFFFF"})
    change_configuration(small, read_template(document))
    path = "configuration/compare/take/?section=types&name=box"
    assert "~ types.box.color: #FFFFFF -&gt; #AABBCC" in office.page(path)
    assert office.post(path, {}).status_code == 302
    with tenant_scope(small):
        assert read_blueprint() == read_template(small_template(**{"types.dot.color": "#FFFFFF"}))
    assert office.get("configuration/compare/take/?section=types&name=other").status_code == 404
    assert office.get("configuration/compare/take/?section=secrets&name=box").status_code == 404


def test_restoring_an_entry_that_breaks_a_rule_is_refused(small: Storage, office: ConfigurationOffice) -> None:
    """The type of the template has a parent that the storage no longer has."""
    document = small_template(**{"types.Thing.parents": None, "types.box": None})
    document["facets"]["things, étc."]["views"]["Tree"].update(types=["Thing"], rootTypes=["Thing"])
    document["facets"]["things, étc."]["views"]["Tree"]["properties"] = ["name"]
    change_configuration(small, read_template(document))
    path = "configuration/compare/take/?section=types&name=Thing"
    assert "unknown type &quot;box&quot;" in office.page(path)
    assert "unknown type &quot;box&quot;" in office.post(path, {}).content.decode()
    with tenant_scope(small):
        assert read_blueprint() == read_template(document)


def test_a_missing_template_is_reported(small_file: Path, office: ConfigurationOffice) -> None:
    small_file.rename(small_file.with_name("other.json"))
    page = office.page("configuration/compare/")
    assert "The template cannot be read, so a comparison is not possible." in page
    assert "This installation has no template &#x27;small&#x27;. Its templates are: other." in page


MODELS: list[Any] = [
    models.ElementType, models.Facet, models.FacetView, models.Property, models.ReleaseCycle, models.ValidationRule,
]  # fmt: skip


@pytest.mark.parametrize("is_refused", [False, True])
def test_inputs_refer_to_texts_that_the_form_has(small: Storage, is_refused: bool) -> None:
    office, missing, repeated, unread = ConfigurationOffice(small, Role.ADMINISTRATOR), [], [], []
    with tenant_scope(small):
        paths = [f"{model._meta.model_name}/{row.pk}/change/" for model in MODELS for row in model.objects.all()]
    for path in paths:
        if is_refused:
            form = {
                name: values if name.endswith(("_FORMS", "-id")) else [""] for name, values in office.form(path).items()
            }
            page = office.save(path, form).content.decode()
            assert "_error" in page
        else:
            page = office.page(f"facets/{path}")
        root = document_fromstring(page)
        ids = [str(each) for each in root.xpath("//@id")]
        named = root.xpath("//@aria-describedby | //@aria-labelledby | //label/@for")
        missing += [(path, each) for names in named for each in names.split() or [""] if each not in ids]
        described = {each for names in root.xpath("//@aria-describedby") for each in names.split()}
        unread += [(path, each) for each in ids if each.endswith("_helptext") and each not in described]
        repeated += [(path, each) for each, number in Counter(ids).items() if number > 1]
    assert (missing, repeated, unread) == ([], [], [])


def test_pages_escape_the_key_of_a_type(small: Storage) -> None:
    key = '<p x-data x-init="alert(1)">'
    change_configuration(small, read_template({**SMALL, "types": {**SMALL["types"], key: SMALL["types"]["dot"]}}))
    office = ConfigurationOffice(small, Role.ADMINISTRATOR)
    with tenant_scope(small):
        paths = [f"{model._meta.model_name}/{row.pk}/change/" for model in MODELS for row in model.objects.all()]
    pages = [office.page(f"facets/{path}") for path in (*paths, "elementtype/", "property/", "facet/", "facetview/")]
    assert [page for page in pages if "<p x-data" in page] == []
    assert sum("&lt;p x-data" in page for page in pages) > 5


def test_an_address_with_a_wrong_value_shows_an_empty_form(small: Storage) -> None:
    office = ConfigurationOffice(small, Role.ADMINISTRATOR)
    assert '<input type="text" name="display_names-1031"' in office.page("facets/elementtype/add/?display_names=abc")


def test_saving_as_new_shows_the_form_again(small: Storage) -> None:
    office, path = ConfigurationOffice(small, Role.ADMINISTRATOR), address(small, models.ElementType, key="box")
    response = office.save(path, office.form(path), "_saveasnew")
    assert response.status_code == 200
    assert form_of(response.content.decode(), "elementtype_form")["key"] == ["box"]


def test_a_page_reads_the_configuration_again_only_if_it_changed(small: Storage) -> None:
    office, path = ConfigurationOffice(small, Role.ADMINISTRATOR), "facets/elementtype/"
    office.page(path)
    with CaptureQueriesContext(connection) as queries:
        assert "Container" not in office.page(path)
    assert not [each["sql"] for each in queries if "json_agg" in each["sql"]]
    change_configuration(small, read_template(small_template(**{"types.box.displayNames": {"1033": "Container"}})))
    assert "Container" in office.page(path)


def counted(office: ConfigurationOffice, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert office.get(path).status_code == 200
    return len(queries)


@pytest.mark.long
def test_the_number_of_statements_does_not_depend_on_the_content(small: Storage, office: ConfigurationOffice) -> None:
    with tenant_scope(small):
        person = models.ElementType.objects.get(key="person").pk
        cycle = models.ReleaseCycle.objects.get(key="quick").pk
        view = models.FacetView.objects.get(name="Tree").pk
    paths = [
        "facets/elementtype/",
        f"facets/elementtype/{person}/change/",
        f"facets/releasecycle/{cycle}/change/",
        f"facets/facetview/{view}/change/",
    ]
    # The first request fills the caches of the process.
    for path in paths:
        counted(office, path)
    before = {path: counted(office, path) for path in paths}
    document = small_template()
    text = {"displayNames": {"1033": "More"}, "attribute": {"dataType": "SingleLineText"}}
    document["types"]["person"]["properties"] += [{"key": f"more{number}", **text} for number in range(12)]
    for number in range(4):
        document["types"][f"type{number}"] = document["types"]["box"]
        document["facets"][f"facet{number}"] = document["facets"]["people"]
        state = {"category": "review", "displayNames": {"1033": "State"}}
        document["releaseCycles"]["quick"]["states"][f"state{number}"] = state
        way = {"displayNames": {"1033": "Way"}, "from": "open", "to": f"state{number}"}
        document["releaseCycles"]["quick"]["transitions"][f"way{number}"] = way
    document["facets"]["things, étc."]["views"]["Tree"]["types"] += [f"type{number}" for number in range(4)]
    change_configuration(small, read_template(document))
    for path in paths:
        counted(office, path)
    assert {path: counted(office, path) for path in paths} == before


@pytest.mark.long
def test_saving_many_properties_needs_no_statement_per_property(small: Storage, office: ConfigurationOffice) -> None:
    with tenant_scope(small):
        path = f"elementtype/{models.ElementType.objects.get(key='person').pk}/change/"

    def cost() -> int:
        form = changed(office.form(path), color="#FFFFFF")
        with CaptureQueriesContext(connection) as queries:
            assert office.save(path, form, "_preview").status_code == 200
        return len(queries)

    # A kept form loads no configuration, so the first request does.
    cost()
    before = cost()
    document = small_template()
    text = {"displayNames": {"1033": "More"}, "attribute": {"dataType": "SingleLineText"}}
    document["types"]["person"]["properties"] += [{"key": f"more{number}", **text} for number in range(30)]
    change_configuration(small, read_template(document))
    assert cost() == before
