"""The look of the reader pages: title, introduction, logo, colour and menu (D421, D422)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson
from django.db import IntegrityError, connection
from django.utils import timezone
from django.utils.translation import gettext as _

from elements.models import Appearance
from elements.models.appearance import ONLY
from elements.values.colors import COLOR, DARK, LIGHT, Accent, accent_on, text_on
from elements.values.pictures import PictureFile, read_picture_file
from facets.configuration import Configuration
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, ask
from repository_site.core.problems import Conflict, Invalid
from storage.events.recording import record_configuration
from storage.models import Storage

MAX_TITLE, MAX_INTRO = 120, 2_000
MAX_LOGO = 200 * 1024
MAX_PIXELS = 2_000
"""Longest side of a logo: a small file can become a huge picture in the memory of a browser."""
KEEP, REMOVE = "keep", "remove"
DIGEST = 16
CHANGE = "appearance"
"""The place in events of the configuration."""


@dataclass(frozen=True, slots=True)
class AppearanceInput:
    """The chosen look. `logo` is the content of a file, or says to keep or to remove the stored one. `read_on` is the
    time of the change that the caller has seen; None if there was none."""

    titles: Mapping[str, str] = field(default_factory=dict)
    intros: Mapping[str, str] = field(default_factory=dict)
    color: str = ""
    logo: bytes | str = KEEP
    menu: Sequence[str] = ()
    hidden: Sequence[str] = ()
    read_on: datetime | None = None


def read_appearance() -> Appearance:
    """Return the look of the storage of the scope, without the content of the logo; a new one if there is none."""
    return ask(appearance_of_scope())


def appearance_of_scope() -> Question[Appearance]:
    sql = """SELECT a.storage_id, a.titles::text, a.intros::text, a.color, a.logo_type, a.logo_digest, a.menu::text,
        a.hidden::text, a.changed_on FROM elements_appearance a WHERE a.id = %s"""

    def understand(rows: list[Row]) -> Appearance:
        if not rows:
            return Appearance(id=ONLY)
        names = ["id", "storage_id", "titles", "intros", "color", "logo_type", "logo_digest", "menu", "hidden"]
        storage, titles, intros, color, logo_type, digest, menu, hidden, changed_on = rows[0]
        texts = (orjson.loads(each) for each in (titles, intros))
        lists = (orjson.loads(each) for each in (menu, hidden))
        values = [ONLY, storage, *texts, color, logo_type, digest, *lists, changed_on]
        return Appearance.from_db(connection.alias, [*names, "changed_on"], values)

    return Question(sql, [ONLY], understand)


def read_logo(digest: str) -> Appearance | None:
    return Appearance.objects.filter(id=ONLY, logo_digest=digest, logo__isnull=False).first()


def change_appearance(storage: Storage, configuration: Configuration, given: AppearanceInput) -> None:
    """Check and store the look, and record the change as one of the configuration. Call this in the scope."""
    stored = Appearance.objects.select_for_update().filter(id=ONLY).first()
    if given.read_on != (stored.changed_on if stored else None):
        raise _changed_meanwhile()
    picture = read_picture_file(given.logo) if isinstance(given.logo, bytes) else None
    if problems := list(_problems(configuration, given, picture)):
        raise Invalid(_("The appearance has invalid values."), problems)
    row = stored or Appearance(id=ONLY)
    row.titles, row.intros = _filled(given.titles), _filled(given.intros)
    row.color, row.changed_on = given.color.strip().lower(), timezone.now()
    row.menu, row.hidden = list(given.menu), list(given.hidden)
    if isinstance(given.logo, bytes) and picture:
        row.logo, row.logo_type = given.logo, picture.type
        row.logo_digest = hashlib.sha256(given.logo).hexdigest()[:DIGEST]
    elif given.logo == REMOVE:
        row.logo, row.logo_type, row.logo_digest = None, "", ""
    try:
        row.save(force_insert=stored is None)
    except IntegrityError:
        # Two administrators save for the first time.
        raise _changed_meanwhile() from None
    record_configuration(storage, [CHANGE])


def _changed_meanwhile() -> Conflict:
    return Conflict(_("Somebody else has changed the appearance meanwhile. Open the page again."))


def _problems(configuration: Configuration, given: AppearanceInput, picture: PictureFile | None) -> Iterator[str]:
    cultures = {str(each) for each in configuration.cultures.data}
    for place, texts, most in (("title", given.titles, MAX_TITLE), ("introduction", given.intros, MAX_INTRO)):
        for culture, text in texts.items():
            if culture not in cultures:
                yield _("%(place)s: the storage has no culture %(culture)s.") % {"place": place, "culture": culture}
            elif len(text) > most:
                words = {"place": f"{place}[{culture}]", "most": most}
                yield _("%(place)s: expected at most %(most)s characters.") % words
    if given.color and not COLOR.fullmatch(given.color.strip().lower()):
        yield _("color: expected a colour with six digits, such as #0b5c8f.")
    unknown = [each for each in (*given.menu, *given.hidden) if each not in configuration.facets]
    if unknown or len({*given.menu}) < len(given.menu) or len({*given.hidden}) < len(given.hidden):
        yield _("menu: expected each facet of the storage once.")
    if isinstance(given.logo, bytes):
        yield from _logo_problems(given.logo, picture)


def _logo_problems(content: bytes, picture: PictureFile | None) -> Iterator[str]:
    if len(content) > MAX_LOGO:
        yield _("logo: expected a file of at most %(most)s KB.") % {"most": MAX_LOGO // 1024}
    elif picture is None:
        yield _("logo: expected a PNG, JPEG or WebP file.")
    elif not (0 < picture.width <= MAX_PIXELS and 0 < picture.height <= MAX_PIXELS):
        yield _("logo: expected a picture of at most %(most)s × %(most)s pixels.") % {"most": MAX_PIXELS}


def _filled(texts: Mapping[str, str]) -> dict[str, str]:
    return {culture: text.strip() for culture, text in texts.items() if text.strip()}


def style_of(color: str) -> str:
    """Return the style sheet that sets the variables of `reader.css`. Printed pages keep the usual colours."""
    light, dark = _variables(accent_on(color, LIGHT)), _variables(accent_on(color, DARK))
    brand = f"--brand: {color}; --on-brand: {text_on(color)};"
    return (
        f"@media screen {{ :root {{ {brand} {light} }} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )


def style_digest(color: str) -> str:
    """Return a digest for the address of the style sheet, which browsers keep."""
    return hashlib.sha256(style_of(color).encode()).hexdigest()[:DIGEST]


def _variables(accent: Accent) -> str:
    return f"--accent: {accent.color}; --on-accent: {accent.text}; --accent-ground: {accent.ground};"
