"""Pages of users and groups in the back office."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from tests.storage.office import checked_roles

OFFICE = "/demo/showcase/admin/elements/"
USERS, GROUPS = f"{OFFICE}user/", f"{OFFICE}usergroup/"
ARCHITECT = UUID("ef48fe82-0c34-5db0-b13f-8aa83b9d648b")
TEAM = UUID("59c49bf6-8215-591d-8cd5-17fc279c4107")


def form_of(page: str) -> dict[str, Any]:
    """Return the values that a browser would send."""
    fields: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="(?:text|hidden|number)" name="(\w+)" value="([^"]*)"', page):
        fields[name] = value
    for name, text in re.findall(r'<textarea name="(\w+)"[^>]*>\s*(.*?)</textarea>', page, re.DOTALL):
        fields[name] = text
    fields.pop("csrfmiddlewaretoken", None)
    return {**fields, "roles": checked_roles(page), "groups": re.findall(r'<option value="([\w-]+)" selected', page)}
