"""Translations of the page texts: collects texts from code and templates, and compiles them for gettext.

`python -m repository_site.translations` (`make messages`) updates `locale/`. It uses Babel, not the gettext tools.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

PROJECT = Path(__file__).resolve().parent.parent
LOCALE = PROJECT / "repository_site" / "locale"
LANGUAGES = ("de",)
# Its catalogue has only texts of Django and unfold that this project words differently; people edit it by hand.
SOURCE_LANGUAGE = "en"
APPS = ("repository_site", "storage", "facets", "elements", "release")
# Parts of unfold that support libraries which this project does not use.
UNUSED = {"constance", "guardian", "import_export", "location_field", "simple_history", "unfold_crispy"}
# Texts that Django translates, but not with the words of this project.
OVERRIDDEN = {"Save and add another", "Save and continue editing", "Save and view", "Save as new"}
# Texts of Django on our pages that Django does not translate.
UNTRANSLATED = (
    "Enabled",
    "Disabled",
    "Password-based authentication was disabled.",
    "Disable password-based authentication",
    "Enable password-based authentication",
    "This action will <strong>enable</strong> password-based authentication for this user.",
    "Enable password-based authentication for this user by setting a password.",
    "Raw passwords are not stored, so there is no way to see the user’s password.",
    "Reset password",
    "Set password",
    "Set password: %s",
    "Conflicting form data submitted. Please try again.",
    "After you’ve created a user, you’ll be able to edit more user options.",
)
Text = tuple[int, str | tuple[str, ...], list[str], str | None]
"""Line, text or texts, comments and context, as Babel returns them."""
INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
# Arguments of the gettext functions: positions of texts and of the context.
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
# Most sources have no text; tokenizing them takes seconds.
CALL = re.compile(rf"\b({'|'.join(KEYWORDS)})\s*\(")


def gather() -> Catalog:
    """Return all texts of this project, and the texts of unfold and Django that have no translation of their own."""
    found = Catalog(project="content-repository", charset="utf-8")
    for place in (*APPS, "templates"):
        for source in _sources(PROJECT / place):
            for _, message, comments, context in texts(source):
                found.add(message, auto_comments=comments, context=context)
    for text in UNTRANSLATED:
        found.add(text)
    known = {each.id for catalogue in _django_catalogues() for each in catalogue if each.string}
    for source in _sources(_package("unfold")):
        for _, message, comments, context in texts(source):
            if (message not in known or message in OVERRIDDEN) and not UNUSED & set(source.parts):
                found.add(message, auto_comments=comments, context=context)
    return found


def _sources(place: Path) -> list[Path]:
    return sorted(each for each in place.rglob("*") if each.suffix in (".py", ".html") and each.is_file())


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed.")
    return Path(spec.origin).parent


def _django_catalogues() -> Iterator[Catalog]:
    for part in ("conf", "contrib/admin", "contrib/auth"):
        with (_package("django") / part / "locale/de/LC_MESSAGES/django.po").open("rb") as file:
            yield read_po(file)


def texts(source: Path) -> Iterator[Text]:
    """Return the texts of a module or template."""
    text = source.read_text()
    if source.suffix == ".html":
        # `templatize` keeps the indentation of the template, which Python would not accept.
        yield from _texts_of_code(INDENTATION.sub("", templatize(text, origin=str(source))))
    elif CALL.search(text):
        yield from _texts_of_code(text)
        # Babel reads tokens, and an f-string is a single token before Python 3.12.
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FormattedValue):
                yield from _texts_of_code(ast.unparse(node.value))


def _texts_of_code(code: str) -> Iterator[Text]:
    if CALL.search(code):
        yield from extract("python", BytesIO(code.encode()), keywords=KEYWORDS, comment_tags=("Translators:",))


def catalogue_file(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read_catalogue(language: str) -> Catalog:
    path = catalogue_file(language)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalogue: Catalog) -> bytes:
    out = BytesIO()
    write_mo(out, catalogue)
    return out.getvalue()


def update(language: str) -> list[str]:
    """Update a catalogue and return the texts without a translation."""
    catalogue = read_catalogue(language)
    gathered = gather()
    # A new date would change the file even if nothing else has changed.
    gathered.creation_date = catalogue.creation_date
    catalogue.update(gathered, no_fuzzy_matching=True)
    path = catalogue_file(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(
            file, catalogue, width=120, no_location=True, sort_output=True, ignore_obsolete=True, omit_header=False
        )
    write_compiled(language)
    return untranslated(catalogue)


def write_compiled(language: str) -> None:
    catalogue_file(language).with_suffix(".mo").write_bytes(compiled(read_catalogue(language)))


def untranslated(catalogue: Catalog) -> list[str]:
    """Return the texts without a translation; each plural form needs one."""
    return [
        str(message.id)
        for message in catalogue
        if message.id
        and (message.fuzzy or not all(message.string if isinstance(message.string, tuple) else (message.string,)))
    ]


if __name__ == "__main__":
    write_compiled(SOURCE_LANGUAGE)
    for each in LANGUAGES:
        left = update(each)
        sys.stderr.write(f"{catalogue_file(each).relative_to(PROJECT)}: {len(left)} texts without a translation\n")
        sys.stderr.writelines(f"  {text}\n" for text in left)
