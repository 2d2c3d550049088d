"""A user of the back office for tests: reads pages as texts and submits forms."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from storage.models import Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory

VOID = {"input", "br", "link", "meta", "hr", "img", "wbr"}
SILENT = {"script", "style", "svg", "head"}


class Office:
    """`Office(storage, Role.EDITOR)` is signed in with these roles; `user_id` is the user element of the account."""

    def __init__(self, storage: Storage, *roles: Role, user_id: str | None = None, language: str = "") -> None:
        # Without a password, because hashing one takes long.
        account = StaffAccountFactory.create(language=language, password="!")
        StorageMembership.objects.create(
            account=account, storage=storage, roles=[role.value for role in roles], user_id=user_id
        )
        self.client = Client()
        self.client.force_login(account)
        self.base = f"/{storage.collection.key}/{storage.key}/admin/"

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(path if path.startswith("/") else self.base + path, **options)

    def post(self, path: str, data: Any = None, **options: Any) -> Any:
        return self.client.post(path if path.startswith("/") else self.base + path, data or {}, **options)

    def page(self, path: str) -> str:
        response = self.get(path)
        assert response.status_code == 200, (response.status_code, main_text(response))
        return main_text(response)

    def element(self, element: str, **parameters: str) -> str:
        """Return the text of an element's page."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return self.page(f"elements/element/{element}/change/?{query}")

    def form(self, path: str) -> dict[str, Any]:
        """Return the values of a form as the server has filled it in."""
        response = self.get(path)
        assert response.status_code == 200, (response.status_code, main_text(response))
        return form_data(response)


class _ContentParser(HTMLParser):
    """Extracts the text of `#content`, without scripts, pictures and icons."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.open: list[tuple[bool, bool]] = []
        """For each open element: whether it is content, and whether its text is skipped."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        given = dict(attrs)
        is_content, is_silent = self.open[-1] if self.open else (False, False)
        is_icon = "material-symbols" in (given.get("class") or "")
        self.open.append((is_content or given.get("id") == "content", is_silent or is_icon or tag in SILENT))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == (True, False):
            self.parts.append(data)


def main_text(response: Any) -> str:
    """Return the visible text of a page with single blanks."""
    text = response.content.decode()
    reader = _ContentParser()
    reader.feed(text)
    return " ".join(" ".join(reader.parts or [re.sub(r"<[^>]+>", " ", text)]).split())


def names_of(response: Any) -> list[str]:
    """Return the ids of the rows in their order."""
    return [html.unescape(each) for each in re.findall(r'class="el-name">([^<]*)<', response.content.decode())]


class _ElementFormParser(HTMLParser):
    """Extracts fields and values of an element form."""

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[str, Any] = {}
        self.inside = False
        self.select = self.area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self.inside = given.get("id") == "element_form"
        if not self.inside:
            return
        if tag == "input" and name and given.get("type") == "checkbox":
            if "checked" in given:
                self.data.setdefault(name, []).append(value)
        elif tag == "input" and name and name != "csrfmiddlewaretoken":
            self.data[name] = value
        elif tag == "select":
            self.select, self.data[name] = name, ""
        elif tag == "option" and self.select and "selected" in given:
            self.data[self.select] = value
        elif tag == "textarea":
            self.area, self.data[name] = name, ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.data[self.area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            # A line break right after the tag is not part of the text.
            self.data[self.area] = self.data[self.area].removeprefix("\n")
            self.area = ""
        elif tag == "select":
            self.select = ""
        elif tag == "form":
            self.inside = False


def form_data(response: Any) -> dict[str, Any]:
    form = _ElementFormParser()
    form.feed(response.content.decode())
    return form.data
