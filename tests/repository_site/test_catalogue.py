"""Translations: every text has one, and the compiled file is up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Message

from repository_site.translations import (
    LANGUAGES,
    SOURCE_LANGUAGE,
    catalogue_file,
    compiled,
    gather,
    read_catalogue,
    texts,
    untranslated,
)

PLACEHOLDER = re.compile(r"%\(\w+\)[sdr]|%[sd]|\{\w*\}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_has_every_text_of_code_and_templates(language: str) -> None:
    known = {(each.id, each.context) for each in read_catalogue(language)}
    missing = [each.id for each in gather() if each.id and (each.id, each.context) not in known]
    assert missing == [], "`make messages` adds them"


def test_texts_in_f_strings_are_found_with_every_python(tmp_path: Path) -> None:
    source = tmp_path / "greeting.py"
    source.write_text("title = f\"{_('Welcome')} {ngettext('%d user', '%d users', 2) % 2}\"; end = _('Bye')\n")
    assert {text for _, text, _, _ in texts(source)} == {"Welcome", ("%d user", "%d users"), "Bye"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated(language: str) -> None:
    assert untranslated(read_catalogue(language)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_placeholders_of_their_texts(language: str) -> None:
    assert [each.id for each in read_catalogue(language) if each.id and not same_placeholders(each)] == []


@pytest.mark.parametrize("language", [*LANGUAGES, SOURCE_LANGUAGE])
def test_the_compiled_file_is_up_to_date(language: str) -> None:
    assert catalogue_file(language).with_suffix(".mo").read_bytes() == compiled(read_catalogue(language))


def same_placeholders(message: Message) -> bool:
    ids = message.id if isinstance(message.id, tuple) else (message.id,)
    strings = message.string if isinstance(message.string, tuple) else (message.string,)
    wanted = {found for each in ids for found in PLACEHOLDER.findall(str(each))}
    return all(set(PLACEHOLDER.findall(str(each))) <= wanted for each in strings) and set(
        PLACEHOLDER.findall(str(strings[-1]))
    ) == set(PLACEHOLDER.findall(str(ids[-1])))
