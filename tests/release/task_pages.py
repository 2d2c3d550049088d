"""The task pages of the back office as tests use them: signed-in clients, rows of lists, steps and messages."""

from __future__ import annotations

import html
import re
from typing import Any

from django.test import Client

from release.models import Task
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory
from tests.release.house import ID

OFFICE = "/acme/house/admin/"
TASKS = f"{OFFICE}release/task/"
LOG = f"{OFFICE}release/lifecycleentry/"
VERSIONS = ("released-1", "inEffect-1", "order-2")


def member(storage: Storage, *roles: Role, user: str | None = None, **fields: Any) -> Client:
    """Return a client signed in to the back office of the storage."""
    account = StaffAccountFactory.create(**fields)
    StorageMembership.objects.create(
        account=account, storage=storage, roles=[role.value for role in roles], user_id=user and ID[user]
    )
    return signed_in(account)


def signed_in(account: StaffAccount) -> Client:
    client = Client()
    client.force_login(account)
    return client


def boss(storage: Storage) -> Client:
    return member(storage, Role.ADMINISTRATOR, username="boss", first_name="Berta", last_name="Boss")


def text_of(response: Any) -> str:
    """Return the text of a page in one line."""
    page = re.sub(r"(?s)<(script|style|template)\b.*?</\1>", " ", response.content.decode())
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page))).strip()


def rows_of(response: Any) -> list[str]:
    """Return the rows of a list, one line each."""
    page = response.content.decode()
    found = re.findall(r'(?s)<tr class="data-row.*?</tr>', page)
    texts = [re.sub(r"(?s)<template\b.*?</template>", " ", each) for each in found]
    return [re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", each))).strip() for each in texts]


def listed(client: Client, query: str = "") -> list[str]:
    response = client.get(f"{TASKS}{query}")
    assert response.status_code == 200, response.content
    return rows_of(response)


def take(client: Client, step: str, *tasks: str, **given: str) -> Any:
    return client.post(f"{TASKS}step/{step}/", {"task": tasks, **given})


def told(client: Client, response: Any) -> str:
    """Return the text of the page that follows, with its message."""
    assert response.status_code == 302, text_of(response)
    return text_of(client.get(response["Location"]))


def state_of(storage: Storage, *tasks: str) -> list[str]:
    with tenant_scope(storage):
        found = {str(each.id): each.state for each in Task.objects.filter(id__in=tasks)}
    return [found[each] for each in tasks]
