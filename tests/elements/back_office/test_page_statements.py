"""Every page takes at most twelve statements, and as many with some elements as with a thousand (D591).

`page_statements.json` has the numbers, so that a change of them shows in review. To update them after an intended
change: `WRITE_QUERY_COUNTS=1 make test ARGS="-n 0 tests/elements/back_office/test_page_statements.py"`.

The statements of a page begin with the one that reads storage, session and account. Savepoints do not count: the
transaction of the test makes them, and without it a page begins and ends a transaction in the trips of its statements.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.demo.sample import sample_lines
from elements.models import Element, Shape
from elements.sizes import counting
from repository_site.core.database.statements import engine
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.office import Office
from tests.factories import StaffAccountFactory
from tests.scale import many_rows

pytestmark = pytest.mark.django_db
BASELINE = Path(__file__).with_name("page_statements.json")
SIZES = (pytest.param(200, marks=[pytest.mark.long, pytest.mark.on_cluster]), pytest.param(1000, marks=many_rows))
MOST = 12
IS_WRITING = bool(os.environ.get("WRITE_QUERY_COUNTS"))
NOTHING: Mapping[str, int] = {}
ROOT, PROCESS = "00000000-0000-0003-0000-000000000000", "00000000-0000-0003-0000-000000000001"
SYSTEM, USER = "00000000-0000-0001-0000-000000000000", "00000000-0000-0009-0000-000000000001"
BASE = "/acme/sample"
ELEMENT = f"/admin/elements/element/{PROCESS}"
TABS = ("attributes", "related", "children", "diagram", "versions", "record", "lifecycle", "access")
READER = {
    "start": "/1033/",
    "tree": "/1033/processes/",
    "opened tree": f"/1033/processes/?open={PROCESS}",
    "list": "/1033/processes/?as=list",
    "list of a type": "/1033/processes/?as=list&type=subProcess",
    "list by letters": "/1033/processes/?as=list&begins=or",
    "element": f"/1033/processes/{PROCESS}",
    "used system": f"/1033/it/{SYSTEM}",
    "uses": f"/1033/it/{SYSTEM}/uses",
    "search": "/1033/search?q=input",
    "search without hits": "/1033/search?q=ordxr",
    "suggestions": "/1033/search/suggestions?q=ord",
    "account": "/account/",
}
OFFICE = {
    "overview": "/admin/",
    "my work": "/admin/my-work/",
    "messages": "/admin/messages/",
    "elements": "/admin/elements/element/",
    "elements, second page": "/admin/elements/element/?p=2",
    "elements of a facet": "/admin/elements/element/?facet=processes",
    "elements in process": "/admin/elements/element/?stage=draft",
    "elements without owner": "/admin/elements/element/?owner=none",
    "elements, many filters": (
        "/admin/elements/element/?facet=processes&type=subProcess&stage=published&validity=now&untranslated=1031&o=4"
        f"&author={USER}&owner={USER}&tag={SYSTEM}&place={ROOT}"
    ),
    "elements, found": "/admin/elements/element/?q=input",
    "elements, by change": "/admin/elements/element/?o=-7",
    "elements, untranslated": "/admin/elements/element/?untranslated=1031",
    **{f"element, {tab}": f"{ELEMENT}/change/?tab={tab}" for tab in TABS},
    "element, form": f"{ELEMENT}/edit/",
    "element, access": f"{ELEMENT}/access/",
    "element, new": "/admin/elements/element/add/?type=subProcess",
    "tree": "/admin/elements/tree/",
    "tree, opened": f"/admin/elements/tree/?facet=processes&open={ROOT}",
    "tree, details": f"/admin/elements/tree/details/{PROCESS}/",
    "choices": "/admin/elements/choices/?types=user&term=us",
    "search of pages": "/admin/search/?s=order",
    "import": "/admin/elements/element/import/",
    "bulk changes": "/admin/elements/bulk/runs/",
    "bulk change": "/admin/elements/bulk/?facet=it",
    "translations": "/admin/translations/",
    "translations of a facet": "/admin/translations/?facet=processes",
    "permission sets": "/admin/permission-sets/",
    "permission set of a facet": "/admin/permission-sets/facets/processes/",
    "appearance": "/admin/appearance/",
    "cultures": "/admin/cultures/",
    "hand-over": "/admin/handover/",
    "configuration, comparison": "/admin/configuration/compare/",
    "user": f"/admin/elements/user/{USER}/change/",
    "password": "/admin/password_change/",
}
LISTS = (
    "storage/storedfile", "storage/storagemembership", "storage/webhook", "storage/apitoken", "storage/invitation",
    "facets/validationrule", "facets/elementtype", "facets/releasecycle", "facets/facet", "facets/layout",
    "facets/property", "facets/facetview", "elements/user", "elements/usergroup", "release/lifecycleentry",
    "release/task",
)  # fmt: skip
SITE = {
    "landing page": "/",
    "overview": "/admin/",
    "load": "/admin/load/",
    "second factors": "/admin/factor/own/",
    "password": "/admin/password_change/",
    **{
        each: f"/admin/storage/{each}/"
        for each in (
            "storagecollection", "storage", "queuedjob", "staffaccount", "invitation", "identityprovider",
            "failedsignin", "apitoken",
        )
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=SIZES)
def sample(
    request: pytest.FixtureRequest, filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storage]:
    file = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(sample_lines(request.param)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


@pytest.fixture(autouse=True)
def _nothing_is_counted_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SLOW", 60)
    monkeypatch.setattr(counting, "_kept", {})


def statements(client: Client, address: str) -> list[str]:
    """Return the statements of a page, without those that only the transaction of the test needs."""
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address)
    assert response.status_code == 200, (address, response.status_code, response.get("Location"))
    sent = [each["sql"] for each in captured.captured_queries if "SAVEPOINT" not in each["sql"]]
    entered = [each for each in sent if "current_setting('repository.storage', true) AS value" in each]
    # A scope that ends inside of a transaction restores the one around it.
    left = len(entered) // 2
    return sent[: len(sent) - left]


def forms_of(client: Client, base: str, lists: dict[str, str]) -> dict[str, str]:
    """Return the form of the first row of each list that has one."""
    found = {}
    for name, path in lists.items():
        page = client.get(base + path).content.decode()
        if link := re.search(rf'"({re.escape(base + path)}[^"/]+/change/)', page):
            found[f"{name}, form"] = link[1].removeprefix(base)
    return found


def counts_of(
    client: Client, kind: str, base: str, pages: dict[str, str], expected: Mapping[str, int] = NOTHING
) -> dict[str, int]:
    """Return the number of statements of each page.

    The first request may read what the process then keeps, such as the configuration. So a page is read again if it has
    taken another number than expected, or more than twelve.
    """
    found = {}
    for name, path in pages.items():
        key, count = f"{kind}: {name}", len(statements(client, base + path))
        if IS_WRITING or count != expected.get(key, min(count, MOST)):
            count = len(statements(client, base + path))
        found[key] = count
    return found


def test_statements_of_each_page(sample: Storage) -> None:
    administrator, editor = Office(sample, *Role), Office(sample, Role.EDITOR, user_id=USER)
    root = Client()
    root.force_login(StaffAccountFactory.create(is_superuser=True, password="!"))
    lists = {each: f"/admin/{each}/" for each in LISTS}
    configuration = {name: path for name, path in lists.items() if name.startswith("facets/")}
    forms = forms_of(administrator.client, BASE, configuration)
    site_forms = forms_of(root, "", {"staffaccount": SITE["staffaccount"], "storage": SITE["storage"]})
    known = json.loads(BASELINE.read_text(encoding="utf-8"))
    own = {**READER, "my work": "/admin/my-work/", "elements": OFFICE["elements"]}
    counts = {
        **counts_of(administrator.client, "reader", BASE, READER, known),
        **counts_of(administrator.client, "office", BASE, {**OFFICE, **lists, **forms}, known),
        **counts_of(editor.client, "person", BASE, {**own, "office element": OFFICE["element, attributes"]}, known),
        **counts_of(root, "site", "", {**SITE, **site_forms}, known),
    }
    if IS_WRITING:
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
        known = counts
    assert len(forms) > 4
    if engine().is_distributed:
        # The questions of a round are statements of their own (D591).
        return
    assert counts == known
    assert {name: count for name, count in counts.items() if count > MOST} == {}


@pytest.mark.parametrize("of_elements", [True, pytest.param(False, marks=pytest.mark.long)])
def test_pages_of_the_showcase_take_no_more_statements(showcase: Storage, of_elements: bool) -> None:
    """Its elements have several versions, diagrams with notes, and uses. Quick tests read the pages of one element."""
    if engine().is_distributed:
        pytest.skip("the questions of a round are statements of their own (D591)")
    with tenant_scope(showcase):
        drawn = Shape.objects.values_list("version__element_id", flat=True).order_by("version_id").first()
        user = Element.objects.filter(type__key="user").order_by("id").first()
    assert drawn
    assert user
    address = f"/admin/elements/element/{drawn}"
    pages = {
        "element": f"/1033/processes/{drawn}",
        "opened tree": f"/1033/processes/?open={drawn}",
        **{f"element, {tab}": f"{address}/change/?tab={tab}" for tab in TABS},
        "element, form": f"{address}/edit/",
        "user": f"/admin/elements/user/{user.pk}/change/",
    }
    if not of_elements:
        pages = {
            **{name: READER[name] for name in ("start", "tree", "search", "account")},
            **{name: path for name, path in OFFICE.items() if PROCESS not in path and "user" not in name},
        }
    counts = counts_of(Office(showcase, *Role).client, "showcase", "/demo/showcase", pages)
    assert {name: count for name, count in counts.items() if count > MOST} == {}


@pytest.mark.parametrize("site", [False, True])
def test_every_page_of_the_navigation_is_counted(showcase: Storage, site: bool) -> None:
    """New pages must join the list."""
    if site:
        client, base, known = Client(), "", {*SITE.values()}
        client.force_login(StaffAccountFactory.create(is_superuser=True, password="!"))
    else:
        client, base = Office(showcase, *Role).client, "/demo/showcase"
        known = {*OFFICE.values(), *(f"/admin/{each}/" for each in LISTS)}
    page = client.get(f"{base}/admin/").content.decode()
    shown = {each for each in re.findall(rf'href="{base}(/admin/[^"?#]*)"', page) if "/change/" not in each}
    assert (len(shown) > 8, shown - known) == (True, set())
