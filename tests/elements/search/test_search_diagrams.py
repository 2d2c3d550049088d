"""Texts of lanes and flows are searched like other texts of the version that has the diagram (D437)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from elements.models import Lane, SearchDocument, SearchPosting, ShapeFlow
from elements.search.rebuilding import rebuild_search
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.element_parts import part
from tests.elements.handbook import ID
from tests.elements.replacing import drawn, replace
from tests.factories import token_for

pytestmark = pytest.mark.django_db
SEARCH = "/acme/handbook/_api/rest/search"
LANES = [{"index": 0, "name": {"1031": "lager\nhalle", "1033": "warehouse"}}]
STEPS = (
    drawn(0, "shape-start-3", lane=0),
    drawn(1, "shape-check-3", 0, lane=0, labels={"0": {"1033": "damaged goods"}}),
)


@pytest.fixture
def draft(handbook: Storage, api: ApiClient, anna: str) -> None:
    """The draft of `order` has a lane and a label."""
    replace(api, anna, "order-3", *STEPS, lanes=LANES)


def found(api: ApiClient, text: str, token: str | None = None) -> list[str]:
    answer = api.get(f"{SEARCH}?q={quote(text)}", token=token)
    assert answer.status_code == 200
    ids = {value: name for name, value in ID.items()}
    return [ids[each.get("versionId", each["id"])] for each in answer.json()["values"]]


def documents(storage: Storage) -> dict[str, str]:
    with tenant_scope(storage):
        return {str(each.id): each.drawn for each in SearchDocument.objects.exclude(drawn="")}


@pytest.mark.usefixtures("draft")
class TestDraft:
    @pytest.mark.parametrize(
        "text", ["warehouses", "wareh", '"lager halle"', "damaged order", '"damaged goods"', "order -zeppelin"]
    )
    def test_a_process_is_found_by_the_texts_of_its_diagram(self, api: ApiClient, editor: str, text: str) -> None:
        assert found(api, text, editor) == ["order-3"]

    def test_words_of_two_texts_are_not_a_phrase(self, api: ApiClient, editor: str) -> None:
        for text in ('"halle warehouse"', '"goods lager"', "order -damaged"):
            assert found(api, text, editor) == [], text

    def test_a_hit_by_the_diagram_has_no_excerpt(self, api: ApiClient, editor: str) -> None:
        (hit,) = api.get(f"{SEARCH}?q=warehouse", token=editor).json()["values"]
        assert (hit["versionId"], "excerpt" in hit) == (ID["order-3"], False)

    def test_a_similar_word_is_suggested(self, api: ApiClient, editor: str) -> None:
        assert api.get(f"{SEARCH}?q=warehuose", token=editor).json()["suggestion"] == "warehouse"

    def test_viewers_do_not_find_the_diagram_of_a_draft(self, handbook: Storage, api: ApiClient) -> None:
        nothing = {"count": 0, "values": [], "facets": {}, "types": {}, "states": {}, "isComplete": True}
        for token in (None, token_for(handbook, Role.VIEWER)):
            for text in ("warehouse", "warehuose", "damaged"):
                assert api.get(f"{SEARCH}?q={text}", token=token).json() == nothing

    def test_other_storages_have_none_of_the_words(self) -> None:
        rival = Storage.objects.get(collection__key="rival", key="handbook")
        assert documents(rival) == {}
        with tenant_scope(rival):
            assert not SearchPosting.objects.filter(word="warehouse").exists()


@pytest.mark.long
@pytest.mark.on_cluster
def test_the_index_follows_every_change_of_a_diagram(
    handbook: Storage, api: ApiClient, anna: str, architect: str
) -> None:
    replace(api, anna, "order-3", *STEPS, lanes=LANES)
    lane, label = "lager halle \n warehouse", "damaged goods"
    assert documents(handbook) == {ID["order-3"]: f"\n {label} \n {lane} \n"}
    # An update of the attributes leaves them alone, and the other way round.
    given: Any = {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": "Zeppelin"}}}]}
    address = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
    assert api.post(address, given, "application/json", token=anna).status_code == 200
    assert found(api, "zeppelin warehouse damaged", anna) == ["order-3"]
    plain = (drawn(0, "shape-start-3", lane=None), drawn(1, "shape-check-3", 0, lane=None, labels={"0": None}))
    replace(api, anna, "order-3", *plain)
    assert documents(handbook) == {ID["order-3"]: f"\n {lane} \n"}
    replace(api, anna, "order-3", *plain, lanes=[])
    assert documents(handbook) == {}
    assert found(api, "zeppelin", anna) == ["order-3"]
    replace(api, anna, "order-3", *STEPS, lanes=LANES)
    with tenant_scope(handbook):
        Lane.objects.update(name={"1033": "yard"})
        ShapeFlow.objects.filter(label__has_key="1033").update(label={"1033": "rotten"})
    assert documents(handbook) == {ID["order-3"]: "\n rotten \n yard \n"}
    assert api.delete(part("order-3", "", "detail").rstrip("/"), token=architect).status_code == 200
    assert documents(handbook) == {}
    assert found(api, "yard", architect) == []


def test_a_rebuild_writes_the_texts_of_diagrams(handbook: Storage, api: ApiClient, anna: str) -> None:
    replace(api, anna, "order-3", *STEPS, lanes=LANES)
    before = documents(handbook)
    with tenant_scope(handbook):
        SearchDocument.objects.update(drawn="")
        SearchPosting.objects.filter(word__in=["warehouse", "damaged"]).delete()
    for _ in rebuild_search(handbook):
        pass
    assert documents(handbook) == before
    assert found(api, "damaged warehouse", anna) == ["order-3"]
    with tenant_scope(handbook):
        assert SearchPosting.objects.get(word="warehouse").size == 1
