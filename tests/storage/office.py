"""Browsers of staff accounts, for the tests of the back offices."""

from __future__ import annotations

import re

from django.test import Client

from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory


def signed_in(account: StaffAccount) -> Client:
    client = Client()
    client.force_login(account)
    return client


def site_administrator() -> Client:
    return signed_in(StaffAccountFactory.create(is_superuser=True))


def member(storage: Storage, *roles: Role, **fields: object) -> Client:
    account = StaffAccountFactory.create(**fields)
    StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])
    return signed_in(account)


def ticket(page: str) -> str:
    """Return the signed id of the token that the form of this page would issue."""
    found = re.search(r'name="ticket" value="([^"]+)"', page)
    assert found
    return found[1]


def errors(page: str) -> list[str]:
    """Return the errors of a form in their order."""
    lists = re.findall(r'<ul class="errorlist[^"]*"[^>]*>(.*?)</ul>', page, re.DOTALL)
    return [text.strip() for found in lists for text in re.findall(r"<li>(.*?)</li>", found, re.DOTALL)]


def checked_roles(page: str) -> list[str]:
    boxes = re.findall(r'<input type="checkbox" name="roles" value="(\w+)"[^>]*?(\schecked)?>', page)
    return [role for role, mark in boxes if mark]
