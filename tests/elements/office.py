"""A user of the back office for tests: reads pages as texts and submits forms."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from django.test import Client
from lxml.html import HtmlElement, document_fromstring

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


def main_text(response: Any) -> str:
    """Return the visible text of a page with single blanks: that of `#content`, without scripts, pictures and icons."""
    text = response.content.decode()
    content = _found(text, "content")
    parts = [re.sub(r"<[^>]+>", " ", text)] if content is None else _texts(content)
    return " ".join(" ".join(parts).split())


def _found(page: str, name: str) -> HtmlElement | None:
    """Return the element with this id. lxml parses a page ten times as fast as Python's parser."""
    if f'id="{name}"' not in page:
        return None
    return document_fromstring(page).find(f".//*[@id='{name}']")


def _texts(element: HtmlElement) -> Iterator[str]:
    if (
        isinstance(element.tag, str)
        and element.tag not in SILENT
        and "material-symbols" not in element.get("class", "")
    ):
        yield element.text or ""
        for child in element:
            yield from _texts(child)
            yield child.tail or ""


def names_of(response: Any) -> list[str]:
    """Return the ids of the rows in their order."""
    return [html.unescape(each) for each in re.findall(r'class="el-name">([^<]*)<', response.content.decode())]


def form_data(response: Any) -> dict[str, Any]:
    """Return fields and values of an element form."""
    form, data = _found(response.content.decode(), "element_form"), dict[str, Any]()
    for field in () if form is None else form.iter("input", "select", "textarea"):
        name, value = field.get("name", ""), field.get("value", "")
        if field.tag == "select":
            chosen = [option.get("value", "") for option in field.iter("option") if "selected" in option.attrib]
            data[name] = chosen[-1] if chosen else ""
        elif field.tag == "textarea":
            # A line break right after the tag is not part of the text.
            data[name] = (field.text or "").removeprefix("\n")
        elif name and field.get("type") == "checkbox":
            if "checked" in field.attrib:
                data.setdefault(name, []).append(value)
        elif name and name != "csrfmiddlewaretoken":
            data[name] = value
    return data
