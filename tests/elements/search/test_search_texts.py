"""Search texts, excerpts and similar words, without a database."""

from __future__ import annotations

import pytest

from elements.filters.words import words_of
from elements.search.excerpts import Excerpt, best_excerpt
from elements.search.queries import SearchPart, read_text
from elements.search.spelling import allowed, distance
from repository_site.core.problems import Unreadable

HTML = '<?xml version="1.0" encoding="utf-8"?>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Order parts", ["order", "parts"]),
        ("Ärger über Größe", ["arger", "uber", "grosse"]),
        ("e\u0301te\u0301 und CAFÉ", ["ete", "und", "cafe"]),
        ("ISO-9001/2015", ["iso", "9001", "2015"]),
        ("Aufgaben\u00adliste 2²", ["aufgabenliste", "22"]),
        ("it's 100 % — «done»…", ["it", "s", "100", "done"]),
        ("Ω Дом", ["ω", "дом"]),
        ("東京 駅", ["東", "東京", "京", "駅", "駅"]),
        ("ISO認証", ["iso", "認", "認証", "証"]),
        ("製造・工程、管理。", ["製", "製造", "造", "工", "工程", "程", "管", "管理", "理"]),
        ("ﾊﾟﾝ", ["ハ", "ハ\u309a", "\u309aン", "ン"]),
        ("ปก", ["ป", "ปก", "ก"]),
        ("مُحَمَّد، أحمد", ["محمد", "احمد"]),
        ("İstanbul ❤\ufe0f", ["istanbul"]),
        ("null\0char", ["null", "char"]),
        ("x" * 50, ["x" * 40]),
        (" \n\t", []),
    ],
)
def test_words_are_folded(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("order par", [SearchPart(("order",)), SearchPart(("par",), is_prefix=True)]),
        ("order par ", [SearchPart(("order",)), SearchPart(("par",))]),
        ('"order parts" -draft', [SearchPart(("order", "parts")), SearchPart(("draft",), is_excluded=True)]),
        ('x -"order parts"', [SearchPart(("x",)), SearchPart(("order", "parts"), is_excluded=True)]),
        ("ISO-90", [SearchPart(("iso", "90"), is_prefix=True)]),
        ('"order par', [SearchPart(("order", "par"))]),
        ("order order ", [SearchPart(("order",))]),
        ("- % ", []),
        ("製造", [SearchPart(("製造",), is_prefix=True)]),
        ("製造工 ", [SearchPart(("製造", "造工"))]),
        ("車", [SearchPart(("車",), is_prefix=True)]),
        ("ISO認証 ", [SearchPart(("iso", "認", "認証"))]),
        ("認証ISO ", [SearchPart(("認証", "証", "iso"))]),
        ('"車 船" ', [SearchPart(("車", "船"))]),
        ("製" * 150, [SearchPart(("製製",) * 149, is_prefix=True)]),
    ],
)
def test_parts_of_a_search_text(text: str, parts: list[SearchPart]) -> None:
    assert list(read_text(text).parts) == parts


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x" * 201, "q: expected at most 200 characters, not 201."),
        (" ".join(f"w{number}" for number in range(11)), "q: expected at most 10 words, not 11."),
        ("-draft -old", "q: expected at least one word to find, besides the excluded ones."),
    ],
)
def test_refused_search_texts(text: str, problem: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_text(text)
    assert refused.value.message == problem


def excerpt(attributes: dict[str, dict[str, str]], *words: str, culture: str = "1033") -> Excerpt | None:
    return best_excerpt(attributes, attributes, lambda word: word in words, culture)


def test_an_excerpt_marks_words_and_escapes_everything_else() -> None:
    texts = {"description": {"1033": f"{HTML}<p>Größe &lt;b&gt; of   orders</p>"}}
    assert excerpt(texts, "grosse", "orders") == Excerpt(
        "description", "1033", "<mark>Größe</mark> &lt;b&gt; of <mark>orders</mark>"
    )


def test_a_long_text_is_cut_around_the_first_word() -> None:
    text = f"{'before ' * 30}order {'after ' * 60}"
    found = excerpt({"description": {"1033": text}}, "order")
    assert found is not None
    plain = found.text.replace("<mark>", "").replace("</mark>", "")
    assert found.text.startswith("…before ")
    assert "before <mark>order</mark> after" in found.text
    assert found.text.endswith("after…")
    assert 150 < len(plain) <= 202


def test_excerpts_are_chosen_by_words_then_culture_then_texts_before_names() -> None:
    texts = {"name": {"1031": "order parts", "1033": "order"}, "scope": {"1031": "order", "1033": "an order"}}
    assert excerpt(texts, "order") == Excerpt("scope", "1033", "an <mark>order</mark>")
    assert excerpt(texts, "order", culture="1031") == Excerpt("scope", "1031", "<mark>order</mark>")
    assert excerpt(texts, "order", "parts") == Excerpt("name", "1031", "<mark>order</mark> <mark>parts</mark>")
    assert excerpt(texts, "missing") is None


def test_a_text_without_blanks_is_cut_and_only_the_found_characters_are_marked() -> None:
    text = f"{'方' * 300}製造工程{'法' * 300}"
    words = ["製造", "造工"]
    assert excerpt({"scope": {"1033": text}}, *words) == Excerpt(
        "scope", "1033", f"…{'方' * 60}<mark>製造工</mark>程{'法' * 136}…"
    )
    address = f"{'a/' * 300}order"
    assert excerpt({"scope": {"1033": address}}, "order") == Excerpt("scope", "1033", f"…{'a/' * 30}<mark>order</mark>")
    assert excerpt({"scope": {"1033": "ISO認証"}}, "iso", "認証") == Excerpt(
        "scope", "1033", "<mark>ISO</mark><mark>認証</mark>"
    )
    long = excerpt({"scope": {"1033": "x" * 900}}, "x" * 40)
    assert long == Excerpt("scope", "1033", f"<mark>{'x' * 200}</mark>…")


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [("order", "order", 0), ("order", "ordre", 1), ("order", "rder", 1), ("order", "orxder", 1), ("order", "oder", 1),
     ("invoice", "invioces", 2)],
)  # fmt: skip
def test_errors_between_words(one: str, other: str, errors: int) -> None:
    assert distance(one, other, 2) == distance(other, one, 2) == errors


def test_longer_words_may_have_more_errors() -> None:
    assert [allowed(word) for word in ("erp", "part", "invoice")] == [0, 1, 2]
    assert distance("order", "invoice", 2) == 3
