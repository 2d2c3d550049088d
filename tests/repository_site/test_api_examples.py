"""The examples of the document match a real run, which this test repeats.

`make examples` (which sets REPOSITORY_WRITE_EXAMPLES) records them again.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from repository_site.api_document.document import openapi_document
from repository_site.api_document.examples import EXAMPLES, MESSAGES, example_of
from repository_site.core.environment import PROJECT_DIR
from repository_site.core.rest.schema import BODY_ERRORS, ERRORS, WRITING_ERRORS
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient, validate
from tests.api_examples import addresses, play
from tests.conftest import StorageMaker
from tests.factories import token_for

DEMO = PROJECT_DIR / "elements/demo/showcase.ndjson"
# Operations whose responses are too long for an example.
WITHOUT = {"getOpenApiDocument", "getOpenApiDocumentByPost", "listTypeSchemas", "listTypeSchemasByPost",
           "browseDocument", "browseDocumentByPost"}  # fmt: skip
UNKNOWN = "00000000-0000-4000-8000-000000000000"
EXPRESSION = re.compile(r"\$(request\.path\.(?P<name>\w+)|response\.body#(?P<pointer>/.*))")


@pytest.mark.long
@pytest.mark.one_node("the examples are of one server")
@pytest.mark.django_db
def test_the_examples_match_a_run(filled_storage: StorageMaker, api: ApiClient) -> None:
    with filled_storage(DEMO, collection="demo", key="showcase", template="standard", title="Showcase") as storage:
        played = play(storage, api)
    text = json.dumps(played, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("REPOSITORY_WRITE_EXAMPLES") == "1":
        EXAMPLES.write_text(text, encoding="utf-8")
    assert json.loads(EXAMPLES.read_text(encoding="utf-8")) == played, "run `make examples`"


def test_every_operation_has_an_example_that_its_schemas_allow() -> None:
    for operation_id, (path, verb) in addresses().items():
        operation = openapi_document()["paths"][path][verb]
        content = operation["responses"]["200"]["content"]
        answers = [*content.values()]
        assert all("example" in each for each in answers) == (operation_id not in WITHOUT), operation_id
        bodies = operation.get("requestBody", {}).get("content", {}).values()
        for each in (*answers, *bodies, *operation["parameters"]):
            if "example" in each:
                value = each["example"]
                if each["schema"].get("type") in ("integer", "boolean") and isinstance(value, str):
                    value = json.loads(value)
                validate(value, each["schema"])


def test_every_error_has_an_example_that_its_schema_allows() -> None:
    assert set(MESSAGES) == set(ERRORS) | set(BODY_ERRORS) | set(WRITING_ERRORS)
    for response in openapi_document()["components"]["responses"].values():
        content = response["content"]["application/json"]
        validate(content["example"], content["schema"])


@pytest.mark.django_db
def test_messages_of_errors_are_those_of_the_service(api: ApiClient, storage: Storage) -> None:
    token = token_for(storage, Role.EDITOR)
    elements = "/acme/handbook/_api/rest/facets"
    answers = [
        api.get("/acme/handbook/_api/rest/tasks?$page=x", token=token),
        api.get("/acme/handbook/_api/rest/info"),
        api.get("/acme/handbook/_api/rest/tasks", token=token_for(storage, Role.VIEWER)),
        api.put(elements, token=token),
        api.get(elements, token=token, headers={"Accept": "image/png"}),
        api.post(f"/acme/handbook/_api/rest/tasks/{UNKNOWN}/accept", "x", content_type="text/plain", token=token),
    ]
    told = {str(answer.status_code): answer.json()["message"] for answer in answers}
    assert told == {status: MESSAGES[status] for status in ("400", "401", "403", "405", "406", "415")}


def test_links_lead_somewhere() -> None:
    """Each link names an existing operation, and the examples have all its parameters."""
    recorded = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    followed = set()
    for operation_id, (path, verb) in addresses().items():
        for link in openapi_document()["paths"][path][verb]["responses"]["200"].get("links", {}).values():
            there = addresses()[link["operationId"]][0]
            assert set(link["parameters"]) == set(re.findall(r"\{(\w+)\}", there)), (operation_id, link)
            example = example_of(operation_id, recorded)
            assert example is not None
            assert all(resolved(value, example) for value in link["parameters"].values()), (operation_id, link)
            followed.add(link["operationId"])
    assert len(followed) > 25


def resolved(expression: str, example: dict[str, Any]) -> Any:
    found = EXPRESSION.fullmatch(expression)
    if found is None:
        return expression
    if found["name"]:
        return example["path"][found["name"]]
    value = example["answer"]
    for part in found["pointer"].split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value
