"""The search index: the database maintains it with every change, and a rebuild gives the same index."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from html import unescape
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unicodedata import category
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from elements.filters.clues import COMMON_MARKUP, IN_MARKUP, SHORTEST
from elements.filters.words import words_of
from elements.models import ElementVersion, Lane, SearchDocument, SearchPosting, SearchWord
from elements.search import rebuilding
from elements.search.excerpts import TAG
from elements.search.rebuilding import measure_search
from elements.values.html import XML_DECLARATION
from repository_site.core.database.statements import fetch
from storage.models import Storage
from storage.tenancy.scope import owners_first, tenant_models, tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import HTML, ID
from tests.named_storages import StorageWatch

pytestmark = pytest.mark.django_db
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
WORDS = (
    "Order", "parts", "Ärger", "Straße", "invoices", "2026", "ISO-9001", "x" * 45, "<b>", "a&amp;b", "製造工程",
    "Pr&#252;fung", "&#x004D;&#x0E4;rchen&#8203;buch",
)  # fmt: skip
# The words that markup adds to the index: those of tags, and those around a reference to a character.
MARKUP = re.compile(r"<[^>]*>|[^\s<>]*&#\w+;[^\s<>]*")


def lines(texts: Iterable[str]) -> list[str]:
    """Return the words of each text, sorted by their texts."""
    plain = [unescape(TAG.sub(" ", text)) if XML_DECLARATION.match(text) else text for text in texts]
    return sorted(" ".join(words) for text in plain if (words := words_of(text)))


def markup(texts: Iterable[str]) -> list[str]:
    """Return the words of all markup in one line, without short and common ones."""
    tags = " ".join(tag for text in texts if XML_DECLARATION.match(text) for tag in MARKUP.findall(text))
    words = {word for word in words_of(tags) if len(word) >= SHORTEST and word not in COMMON_MARKUP}
    return [" ".join(sorted(IN_MARKUP + word for word in words))] if words else []


def expected() -> dict[UUID, tuple[list[str], list[str]]]:
    """Return the lines that the documents of all versions should have."""
    made = {}
    for version in ElementVersion.objects.all():
        names, texts = list[str](), list[str]()
        for attribute, values in version.attributes.items():
            for value in values.values():
                if isinstance(value, list):
                    value = " / ".join(each["title"] for each in value if isinstance(each, dict))
                if isinstance(value, str) and not value.startswith("2026-"):
                    (names if attribute == "name" else texts).append(value)
        made[version.id] = lines(names), sorted([*lines(texts), *markup([*names, *texts])])
    return made


def kept(document: str) -> list[str]:
    return sorted(text for line in document.replace("…", "").split("\n") if (text := line.strip()))


def check_index() -> None:
    stored = {each.id: (each.names, each.texts) for each in SearchDocument.objects.all()}
    assert {key: (kept(names), kept(texts)) for key, (names, texts) in stored.items()} == expected()
    occurrences = {(word, key) for key, texts in stored.items() for text in texts for word in text.split()}
    in_names = {(word, key) for key, (names, _) in stored.items() for word in names.split()}
    posted = {(each.word, key) for each in SearchPosting.objects.all() for key in each.versions}
    posted_in_names = {(e.word, key) for e in SearchPosting.objects.filter(in_name=True) for key in e.versions}
    assert occurrences <= posted
    assert in_names <= posted_in_names
    assert all(each.size == len(each.versions) for each in SearchPosting.objects.all())
    words = {word for word, _ in occurrences}
    assert words <= set(SearchWord.objects.values_list("word", flat=True))
    assert words <= {each.word for each in SearchWord.objects.all() if each.word == each.stem}


@pytest.mark.long
def test_the_database_folds_as_python_does() -> None:
    # Newer versions of Unicode assign further letters. Lines stay lines.
    letters = [chr(code) for code in range(1, 0x20000) if code != 10 and category(chr(code)) not in ("Cs", "Cn")]
    texts = [f"a{letter}b" for letter in letters]
    with connection.cursor() as cursor:
        cursor.execute("SELECT array_agg(elements_search_fold(text)) FROM unnest(%s::text[]) AS text", [texts])
        (folded,) = cursor.fetchone()
    pairs = zip(texts, folded, strict=True)
    assert [text for text, found in pairs if found.strip(" \n").split(" ") != words_of(text)] == []


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Pr&#252;fung", "Prüfung"),
        ("&#x41;&#0066;c<b>&#x1F600;</b>", "ABc 😀 "),
        ("a&#60;b&#62; &#38;lt; &amp;", "a b>  lt; &amp;"),
        ("&#0;&#xD800;&#xFFFFFF;&#1114112;&#9999999;&#99999999;", "      99999999;"),
        ("1&#;2&#x;3&#", "1 ;2 x;3 "),
        ("252;plain", "252;plain"),
    ],
)
def test_references_to_characters_are_letters(text: str, plain: str) -> None:
    assert fetch("SELECT elements_search_decoded(%s::text)", [text]) == [(plain,)]


def test_one_character_does_not_limit_a_long_text() -> None:
    """Only characters of scripts without spaces are limited (D531)."""
    long = "word " * 5_000
    mixed, much = (f"{first} {long}\n製造 gearbox" for first in ("漢字", "漢" * 20_000))
    [(found, cut)] = fetch("SELECT elements_search_fold(%s::text), elements_search_fold(%s::text)", [mixed, much])
    assert found == f"\n 漢 漢字 字 {long}\n 製 製造 造 gearbox \n"
    assert cut.endswith(f"漢 {long}\n gearbox … \n")


def test_every_imported_version_is_indexed(handbook: Storage) -> None:
    with tenant_scope(handbook):
        assert SearchDocument.objects.count() > 20
        check_index()
        assert set(SearchWord.objects.filter(word="systems").values_list("stem", flat=True)) <= {
            "systems",
            "system",
            "syst",
        }
        (document,) = SearchDocument.objects.filter(id=ID["order-2"])
        assert document.names == "\n auftrag abwickeln \n handle order \n"


@pytest.mark.long
@pytest.mark.on_cluster
def test_the_index_follows_random_changes(handbook: Storage, api: ApiClient, architect: str) -> None:
    chance = random.Random(1)

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randrange(1, 5)))

    def attributes() -> dict[str, Any]:
        made: dict[str, Any] = {"name": {"1033": text(), "1031": text()}, "scope": {"1031": text()}}
        return made | {"description": {"1033": f"{HTML}<p title='hidden'>{text().replace('<b>', '<i/>')}</p>"}}

    made: list[str] = []
    for _ in range(15):
        action = chance.choice(["create", "create", "update", "update", "delete"])
        if action == "delete" and made:
            assert api.delete(f"{PROCESSES}/{made.pop()}", token=architect).status_code == 200
            continue
        if action == "update" and made:
            given: list[Any] = [
                {"id": each, "attributes": attributes()} for each in chance.sample(made, min(2, len(made)))
            ]
        else:
            place = [{"id": ID["sales"]}]
            given = [{"type": "subProcess", "rootPath": place, "attributes": attributes()} for _ in range(2)]
        response = api.post(PROCESSES, {"elements": given}, "application/json", token=architect)
        assert response.status_code == 200, response.content
        made += [each["id"] for each in response.json()["elements"] if each["id"] not in made]
    with tenant_scope(handbook):
        check_index()
        before = SearchPosting.objects.count()
    # Changes of other columns post nothing.
    with tenant_scope(handbook):
        ElementVersion.objects.update(stereotype="other")
        assert SearchPosting.objects.count() == before
    for other in Storage.objects.exclude(id=handbook.id):
        with tenant_scope(other):
            assert not SearchDocument.objects.filter(names__contains="arger").exists()
            assert not SearchPosting.objects.filter(word="arger").exists()
            assert not SearchWord.objects.filter(word="arger").exists()


def test_a_rebuild_repairs_and_shrinks_the_index(
    handbook: Storage, api: ApiClient, architect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with tenant_scope(handbook):
        whole = {(each.word, each.in_name): sorted(each.versions) for each in SearchPosting.objects.all()}
    for name in ("Zeppelin", "Order"):
        given = {"elements": [{"id": ID["order"], "attributes": {"name": {"1033": name}}}]}
        assert api.post(PROCESSES, given, "application/json", token=architect).status_code == 200
    with tenant_scope(handbook):
        assert SearchPosting.objects.filter(word="zeppelin").count() == 1
        SearchDocument.objects.filter(id=ID["erp-1"]).delete()
        SearchDocument.objects.create(id=UUID(int=1), names="\n gone \n", texts="")
        SearchPosting.objects.filter(word="crew").delete()
    call_command("rebuild_search", "acme", "handbook")
    with tenant_scope(handbook):
        check_index()
        assert SearchPosting.objects.values("word", "in_name").distinct().count() == SearchPosting.objects.count()
        assert not SearchPosting.objects.filter(word__in=["zeppelin", "gone"]).exists()
        rebuilt = {(each.word, each.in_name): sorted(each.versions) for each in SearchPosting.objects.all()}
    assert rebuilt["crew", True] == whole["crew", True]
    size = measure_search(handbook)
    assert capsys.readouterr().out.endswith(
        f"about {size.index:,} bytes, {size.index / size.attributes:.1f} times the size of the attributes\n"
    )


def test_a_rebuild_merges_a_frequent_word_in_portions(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of a million versions need not fit into memory."""
    taken: list[int] = []

    def watched(sql: str, *values: Any) -> Any:
        rows = fetch(sql, *values)
        if sql == rebuilding.TAKE_POSTINGS:
            taken.append(sum(len(versions) for _, versions in rows))
        return rows

    monkeypatch.setattr(rebuilding, "fetch", watched)
    monkeypatch.setattr(rebuilding, "VERSIONS_AT_ONCE", 2)
    monkeypatch.setattr(rebuilding, "POSTED_AT_ONCE", 4)
    monkeypatch.setattr(rebuilding, "LARGEST", 3)
    with tenant_scope(handbook):
        count = ElementVersion.objects.update(attributes={"name": {"1033": "Zeppelin"}})
        versions = sorted(ElementVersion.objects.values_list("id", flat=True))
        assert count > 8
        SearchPosting.objects.all().delete()
    for _ in rebuilding.rebuild_search(handbook):
        pass
    with tenant_scope(handbook):
        rebuilt = list(SearchPosting.objects.all())
    assert {(each.word, each.in_name) for each in rebuilt} == {("zeppelin", True)}
    assert sorted(version for each in rebuilt for version in each.versions) == versions
    assert all(each.size == len(each.versions) <= 3 for each in rebuilt)
    assert max(taken) <= 4


FILL = {
    "searchposting": """INSERT INTO elements_searchposting (id, word, in_name, size, versions)
        SELECT gen_random_uuid(), 'word' || n, false, 0, '{}'::uuid[] FROM generate_series(1, 2000) n""",
    "searchword": """INSERT INTO elements_searchword (id, word, stem)
        SELECT gen_random_uuid(), 'word' || n, 'stem' || n FROM generate_series(1, 2000) n""",
}


@pytest.mark.one_node("reads the plan of one PostgreSQL server")
@pytest.mark.parametrize(
    ("table", "condition", "index"),
    [
        ("searchposting", "p.word = ANY('{order,bill}')", "posting_by_word"),
        ("searchword", "p.stem = 'order'", "search_word_by_stem"),
        ("searchword", "starts_with(p.word, 'ord')", "search_word_by_word"),
        ("searchword", "p.word >= 'o' AND p.word < 'p'", "search_word_by_word"),
    ],
)
def test_an_index_serves_conditions_under_row_level_security(
    handbook: Storage, table: str, condition: str, index: str
) -> None:
    with tenant_scope(handbook), connection.cursor() as cursor:
        # Among few rows, any index would do.
        cursor.execute(FILL[table])
        cursor.execute(f"ANALYZE elements_{table}")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN (COSTS OFF) SELECT p.id FROM elements_{table} p WHERE {condition}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    (bounds,) = [line for line in plan.splitlines() if "Index Cond" in line]
    assert index in plan
    assert "word" in bounds or "stem" in bounds


def test_a_migration_indexes_existing_versions(
    handbook: Storage, api: ApiClient, architect: str, storage_watch: StorageWatch
) -> None:
    """Versions without a document, and documents from before markup and pairs of characters were words."""
    values = {"name": {"1033": "製造"}, "description": {"1033": f"{HTML}<p class='wide'>Zeppelin</p>"}}
    given = {"elements": [{"id": ID["order"], "attributes": values}]}
    assert api.post(PROCESSES, given, "application/json", token=architect).status_code == 200
    with tenant_scope(handbook):
        Lane.objects.create(version_id=ID["order-3"], position=0, name={"1033": "Warehouse"})
        before = set(SearchDocument.objects.values_list("id", "names", "texts", "drawn"))
        [document] = SearchDocument.objects.filter(texts__endswith=" <class <wide \n")
        assert "\n 製 製造 造 \n" in document.names
        SearchDocument.objects.filter(id__lt=ID["order-1"]).delete()
        SearchDocument.objects.filter(id=document.id).update(names="\n 製造 \n", texts="\n zeppelin \n", drawn="")
        SearchPosting.objects.all().delete()
        SearchWord.objects.filter(word="crew").delete()
    storage_watch.take()
    migration = import_module("elements.migrations.0037_search_in_diagrams")
    migration.fill(None, SimpleNamespace(connection=connection))
    # Outside a scope of the service, the INSERT takes the storage from the versions, which name it.
    assert {each.split(":")[0] for each in storage_watch.take()} == {"elements_searchdocument"}
    with tenant_scope(handbook):
        assert set(SearchDocument.objects.values_list("id", "names", "texts", "drawn")) == before
        assert SearchPosting.objects.filter(word="crew", in_name=True).get().versions == [UUID(ID["crew"])]
        assert SearchWord.objects.filter(word="crew").exists()
        for word in ("<wide", "製", "造", "warehouse"):
            assert SearchPosting.objects.get(word=word).versions == [document.id]


def test_functions_run_without_just_in_time_compilation() -> None:
    """A migration that replaces one of them has to say so again (D391)."""
    functions = [
        "elements_add_words",
        "elements_keep_documents",
        "elements_keep_drawn",
        "elements_post_words",
        "elements_search_decoded",
        "elements_search_markup",
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname FROM pg_proc WHERE proname = ANY(%s) AND 'jit=off' = ANY(proconfig) ORDER BY 1", [functions]
        )
        assert [name for (name,) in cursor.fetchall()] == functions


@pytest.mark.one_node("reads the keys of the tables, not of their shards")
def test_postings_and_words_need_no_key_to_the_storage() -> None:
    """The removal of a storage empties them after the documents, with which triggers write them (D426)."""
    assert owners_first(tenant_models())[-2:] == [SearchPosting, SearchWord]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND conrelid IN"
            " ('elements_searchdocument'::regclass, 'elements_searchposting'::regclass, 'elements_searchword'::regclass)"
        )
        assert cursor.fetchall() == [("elements_searchdocument",)]


def test_an_update_posts_only_words_of_changed_lines(handbook: Storage, api: ApiClient, architect: str) -> None:
    def change(**values: str) -> list[tuple[str, bool, int]]:
        """Change texts and return the new postings."""
        with tenant_scope(handbook):
            before = {*SearchPosting.objects.values_list("id", flat=True)}
        attributes = {name: {"1033": text} for name, text in values.items()}
        given = {"elements": [{"id": ID["order"], "attributes": attributes}]}
        assert api.post(PROCESSES, given, "application/json", token=architect).status_code == 200
        with tenant_scope(handbook):
            check_index()
            added = SearchPosting.objects.exclude(id__in=before)
            return sorted(added.values_list("word", "in_name", "size"))

    change(name="Zeppelin", scope="Airship hangar")
    assert change(scope="Hangar, airship; new: balloon") == [("balloon", False, 1), ("new", False, 1)]
    assert change(scope="Hangar") == []
    # A word of a text gets into the name; a word of the name gets into a text.
    assert change(name="Hangar", scope="Zeppelin") == [("hangar", True, 1)]
    assert change(name="Hangar") == []
