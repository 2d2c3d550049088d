"""Template documents (D26): the files that storages are provisioned from, by name or path.

This app reads the sections about the storage itself (name, title, cultures). Higher apps read their own sections of the
same document through `storage.extension`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from repository_site.core.problems import Invalid, Unreadable, placed
from repository_site.core.rest.strict_json import parse_json
from storage.extension import storage_extensions
from storage.localisation.cultures import CultureProblem, CultureSet, culture_set

OWN_SECTIONS = frozenset({"name", "title", "cultures"})
MAX_LENGTH = 200
TEMPLATE_DIR = Path(__file__).resolve().parents[1] / "template_files"


@dataclass(frozen=True, slots=True)
class TemplateDocument:
    name: str
    title: str
    cultures: CultureSet
    sections: Mapping[str, Any]


def template_names() -> list[str]:
    return sorted(path.stem for path in TEMPLATE_DIR.glob("*.json"))


def load_template(name_or_path: str) -> TemplateDocument:
    """Return the template with a name or at a path; raise Invalid with the file and the place of each problem."""
    path = Path(name_or_path) if "/" in name_or_path or name_or_path.endswith(".json") else _named(name_or_path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        words = {"path": path, "problem": problem.strerror}
        raise Invalid(_("The template %(path)s cannot be read: %(problem)s.") % words) from None
    return read_template(content, str(path))


def read_template(content: bytes, name: str) -> TemplateDocument:
    """Return the template in the content of a file; problems mention `name`."""
    try:
        document = parse_json(content, noun=f"The template {name}")
    except Unreadable as problem:
        raise Invalid(problem.message) from None
    problems: list[str] = []
    head = _read_head(document, problems)
    if head is None or problems:
        raise Invalid(_("The template %(name)s is invalid.") % {"name": name}, problems)
    return head


def _named(name: str) -> Path:
    if name not in template_names():
        words = {"name": name, "known": ", ".join(template_names())}
        raise Invalid(_("There is no template %(name)r. Use %(known)s, or the path of a file.") % words)
    return TEMPLATE_DIR / f"{name}.json"


def _read_head(document: Any, problems: list[str]) -> TemplateDocument | None:
    if not isinstance(document, dict):
        problems.append(_("expected a JSON object at the top level"))
        return None
    sections = OWN_SECTIONS.union(*(extension.template_sections for extension in storage_extensions))
    for field in document:
        if field not in sections:
            known = {"known": ", ".join(sorted(sections))}
            problems.append(placed(field, _("unknown section; the sections are %(known)s") % known))
    for field in ("name", "title"):
        if not isinstance(document.get(field), str) or not document[field]:
            problems.append(placed(field, _("expected a text")))
        elif len(document[field]) > MAX_LENGTH:
            problems.append(placed(field, _("longer than %(limit)d characters") % {"limit": MAX_LENGTH}))
    cultures = _read_cultures(document.get("cultures"), problems)
    if problems or cultures is None:
        return None
    return TemplateDocument(document["name"], document["title"], cultures, document)


def _read_cultures(section: Any, problems: list[str]) -> CultureSet | None:
    if not isinstance(section, dict):
        problems.append(placed("cultures", _("expected an object with data, default and mandatory")))
        return None
    for field in section:
        if field not in ("data", "default", "mandatory"):
            known = {"known": "data, default, mandatory"}
            problems.append(placed(f"cultures.{field}", _("unknown field; the fields are %(known)s") % known))
    for field in ("data", "mandatory"):
        if not _is_numbers(section.get(field, [])):
            problems.append(placed(f"cultures.{field}", _("expected a list of culture ids")))
    if not isinstance(section.get("default", 0), int):
        problems.append(placed("cultures.default", _("expected a culture id")))
    if problems:
        return None
    try:
        return culture_set(section.get("data", []), section.get("default"), section.get("mandatory"))
    except CultureProblem as problem:
        problems.append(f"cultures: {problem}")
        return None


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
