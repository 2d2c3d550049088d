"""The translations of what pages say: texts are gathered from code and templates, and compiled for gettext.

`python -m repository_site.catalogue` (`make messages`) brings `locale/` up to date. It needs Babel, which is there,
and not the gettext tools.
"""

from __future__ import annotations

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
APPS = ("repository_site", "storage", "facets", "elements", "release")
# Parts of unfold for libraries that are not used here.
UNUSED = {"constance", "guardian", "import_export", "location_field", "simple_history", "unfold_crispy"}
# What Django translates in other words than ours.
OVERRIDDEN = {"Save and add another", "Save and continue editing", "Save and view", "Save as new"}
# What Django says on our pages and does not translate.
UNTRANSLATED = (
    "Password-based authentication",
    "Enabled",
    "Disabled",
    "Whether the user will be able to authenticate using a password or not. If disabled, they may still be able to"
    " authenticate using other backends, such as Single Sign-On or LDAP.",
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
INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
# How gettext's functions take their arguments: which of them are texts, and which is a context.
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


def gather() -> Catalog:
    """Every text of ours, and those of unfold, which comes without translations, and of Django that Django does not
    have."""
    found = Catalog(project="content-repository", charset="utf-8")
    for place in (*APPS, "templates"):
        for source in _sources(PROJECT / place):
            for _, message, comments, context in _texts(source):
                found.add(message, auto_comments=comments, context=context)
    for text in UNTRANSLATED:
        found.add(text)
    known = {each.id for catalogue in _django_catalogues() for each in catalogue if each.string}
    for source in _sources(_package("unfold")):
        for _, message, comments, context in _texts(source):
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


def _texts(source: Path) -> Iterator[tuple[int, str | tuple[str, ...], list[str], str | None]]:
    text = source.read_text()
    # What Django makes of a template has its indentation, which means something in Python.
    code = INDENTATION.sub("", templatize(text, origin=str(source))) if source.suffix == ".html" else text
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
    """Bring a catalogue up to date; answers the texts that have no translation yet."""
    catalogue = read_catalogue(language)
    gathered = gather()
    # A date of its own for each run would be a change when nothing has changed.
    gathered.creation_date = catalogue.creation_date
    catalogue.update(gathered, no_fuzzy_matching=True)
    path = catalogue_file(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(
            file, catalogue, width=120, no_location=True, sort_output=True, ignore_obsolete=True, omit_header=False
        )
    path.with_suffix(".mo").write_bytes(compiled(read_catalogue(language)))
    return untranslated(catalogue)


def untranslated(catalogue: Catalog) -> list[str]:
    """With plural forms each of them counts."""
    return [
        str(message.id)
        for message in catalogue
        if message.id
        and (message.fuzzy or not all(message.string if isinstance(message.string, tuple) else (message.string,)))
    ]


if __name__ == "__main__":
    for each in LANGUAGES:
        left = update(each)
        sys.stderr.write(f"{catalogue_file(each).relative_to(PROJECT)}: {len(left)} texts without a translation\n")
        sys.stderr.writelines(f"  {text}\n" for text in left)
