"""Somebody who works in a storage's back office, for tests: pages as texts, and forms as they would be sent."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from storage.models import Storage, StorageMembership
from storage.models.roles import Role
from tests.factories import StaffAccountFactory

VOID = {"input", "br", "link", "meta", "hr", "img", "wbr"}
SILENT = {"script", "style", "svg", "head"}


class Office:
    """`Office(storage, Role.EDITOR)` is signed in with these roles; `user_id` is the user element of the account."""

    def __init__(self, storage: Storage, *roles: Role, user_id: str | None = None, language: str = "") -> None:
        # Nobody types a password here, and making a good digest of one takes long.
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
        """The text of an element's page."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return self.page(f"elements/element/{element}/change/?{query}")

    def form(self, path: str) -> dict[str, Any]:
        """What the form of a page would send, as it is filled in by the server."""
        response = self.get(path)
        assert response.status_code == 200, (response.status_code, main_text(response))
        return form_data(response)


class _Reader(HTMLParser):
    """The text of what stands in `#content`, without what is not read: scripts, pictures and icons."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.open: list[tuple[bool, bool]] = []
        """Of each element that is open: whether it is content, and whether it is silent."""

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
    """What somebody reads on a page, with single blanks."""
    text = response.content.decode()
    reader = _Reader()
    reader.feed(text)
    return " ".join(" ".join(reader.parts or [re.sub(r"<[^>]+>", " ", text)]).split())


def names_of(response: Any) -> list[str]:
    """Of the rows of the list, in their order."""
    return [html.unescape(each) for each in re.findall(r'class="el-name">([^<]*)<', response.content.decode())]


class _Form(HTMLParser):
    """Fields and values of the form of an element."""

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
            # A line break right after the tag is no part of the text.
            self.data[self.area] = self.data[self.area].removeprefix("\n")
            self.area = ""
        elif tag == "select":
            self.select = ""
        elif tag == "form":
            self.inside = False


def form_data(response: Any) -> dict[str, Any]:
    form = _Form()
    form.feed(response.content.decode())
    return form.data
