"""Two servers on one database, behind nginx with the documented configuration: one service, whichever server answers."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest

from repository_site.core.environment import PROJECT_DIR
from tests.elements.handbook import ID
from tests.faults.installation import wait_for
from tests.faults.several_servers import API, WORKERS, ServerReply, SeveralServers, send
from tests.figures import note
from tests.nginx_process import HOST, Proxy, running_nginx

pytestmark = [pytest.mark.server, pytest.mark.fault]
PROCESSES = f"{API}/rest/facets/processes/views/detail/elements"
SYSTEMS = f"{API}/rest/facets/it/views/detail/elements"
OFFICE = "/acme/handbook/admin/"
PASSWORD = "the one that is right"
BURST = 20
TITLES = {
    "SIGTERM": "one of two servers restarted, each in turn",
    "SIGKILL": "one of two servers killed, each in turn",
    "migrated": "migrations applied, two servers",
}
# Seconds until nginx uses a server again that had failed, and one more.
PENALTY = 3
ACCOUNTS = f"""
from storage.models import StaffAccount, StorageMembership
from storage.tenancy.contexts import storage_at
account = StaffAccount.objects.create_user("jo", password="{PASSWORD}", is_staff=True)
StorageMembership.objects.create(account=account, storage=storage_at("acme", "handbook"), roles=["architect"])
"""
END = """
from django.utils import timezone
from elements.models import ElementVersion
from storage.tenancy.contexts import storage_at
from storage.tenancy.scope import tenant_scope
with tenant_scope(storage_at("acme", "handbook")):
    ElementVersion.objects.filter(id="{version}").update(valid_until=timezone.now())
"""


class AlternatingServers(SeveralServers):
    """Two servers that take turns: each request goes to the other server than the one before."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            REPOSITORY_PUBLIC_URL=f"https://{HOST}",
            REPOSITORY_TRUSTED_PROXIES="127.0.0.1",
            REPOSITORY_TOKEN_RATE="off",
            REPOSITORY_ANONYMOUS_RATE=f"0.5/{BURST}",
        )
        self.headers = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        self.turns = itertools.cycle((0, 1))

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> ServerReply:
        return self.call(next(self.turns), method, path, body, **headers)

    def create(self, name: str, **headers: str) -> ServerReply:
        element = {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": [{"id": ID["sales"]}]}
        return self.ask("POST", PROCESSES, {"elements": [element]}, **headers)

    def created(self, name: str) -> tuple[str, str]:
        reply = self.create(name)
        assert reply.status == 200, reply
        [element] = reply.body["elements"]
        return element["id"], element["versionId"]

    def take(self, version: str, transition: str) -> None:
        reply = self.ask("POST", f"{API}/release/{version}/transitions/{transition}?ignoreWarnings=true")
        assert reply.status == 200, reply


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlternatingServers]:
    found = AlternatingServers(tmp_path_factory.mktemp("servers"))
    try:
        found.start()
        yield found
    finally:
        found.end()


@pytest.fixture(scope="module")
def proxy(story: AlternatingServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running_nginx(tmp_path_factory.mktemp("nginx"), [each.port for each in story.servers]) as made:
        yield made


class TestContent:
    def test_a_change_is_read_at_once_from_the_other_server(self, story: AlternatingServers) -> None:
        for number in range(6):
            element, _ = story.created(f"Order {number}")
            reply = story.ask("GET", f"{PROCESSES}/{element}")
            assert reply.body["elements"][0]["attributes"]["name"] == {"1033": f"Order {number}"}
            listed = story.ask("GET", PROCESSES)
            assert element in {each["id"] for each in listed.body["elements"]}
            page = story.ask("GET", f"{PROCESSES}?$page=1&$pageSize=1")
            assert int(page.headers["x-total-count"]) == len(listed.body["elements"])

    def test_entity_tags_are_the_same(self, story: AlternatingServers) -> None:
        element, _ = story.created("Tagged")
        for path in (PROCESSES, f"{PROCESSES}/{element}", f"{PROCESSES}?$pageSize=3"):
            first, second = story.ask("GET", path), story.ask("GET", path)
            assert (first.headers["etag"], first.content) == (second.headers["etag"], second.content)
            assert story.ask("GET", path, If_None_Match=first.headers["etag"]).status == 304
        tag = story.ask("GET", f"{PROCESSES}/{element}").headers["etag"]
        change = {"elements": [{"id": element, "attributes": {"scope": {"1033": "here"}}}]}
        assert story.ask("POST", PROCESSES, change, If_Match=tag).status == 200
        assert story.ask("POST", PROCESSES, change, If_Match=tag).status == 412
        assert story.ask("GET", f"{PROCESSES}/{element}", If_None_Match=tag).status == 200

    def test_an_idempotency_key_counts_at_both_servers(self, story: AlternatingServers) -> None:
        first = story.create("Once", Idempotency_Key="once")
        second = story.create("Once", Idempotency_Key="once")
        assert (first.status, first.content) == (second.status, second.content) == (200, first.content)
        found = story.ask("GET", f"{PROCESSES}?$filter=name%20-eq%20%27Once%27")
        assert len(found.body["elements"]) == 1
        assert story.create("Other", Idempotency_Key="once").status == 422

    def test_simultaneous_requests_with_one_key(self, story: AlternatingServers) -> None:
        with ThreadPoolExecutor(8) as pool:
            replies = [*pool.map(lambda _: story.create("Twins", Idempotency_Key="twins"), range(8))]
        assert {(each.status, each.content) for each in replies} == {(200, replies[0].content)}

    def test_a_lifecycle_with_a_task(self, story: AlternatingServers) -> None:
        element, version = story.created("Reviewed")
        story.take(version, "InProcessToReleased")
        story.take(version, "ReleasedToRequestToExpire")
        for _ in range(2):
            [task] = story.ask("GET", f"{API}/rest/tasks?assignee=all&state=open&element={element}").body["values"]
        # Four eyes: the requester cannot decide.
        issued = story.manage("issue_token", "acme", "handbook", "--name", "chief", "--role", "administrator")
        given = {"Authorization": f"Bearer {issued.strip()}"}
        accept = f"{API}/rest/tasks/{task['id']}/accept"
        assert [story.ask("POST", accept, **given).status for _ in range(2)] == [200, 409]
        replies = [story.ask("GET", f"{PROCESSES}/{element}/lifecycle") for _ in range(2)]
        assert replies[0].content == replies[1].content
        assert {"released", "requestToExpire"} <= {each["toState"] for each in replies[0].body["values"]}

    def test_a_changed_configuration_counts_at_both_servers(self, story: AlternatingServers) -> None:
        facets = f"{API}/rest/facets"
        before = [story.ask("GET", facets).content for _ in range(2)]
        story.shell(
            "from facets.models import Facet\n"
            "from storage.tenancy.contexts import storage_at\nfrom storage.tenancy.scope import tenant_scope\n"
            "with tenant_scope(storage_at('acme', 'handbook')):\n"
            "    Facet.objects.filter(name='it').update(display_names={'1033': 'Renamed'})"
        )
        after = [story.ask("GET", facets).content for _ in range(2)]
        assert before[0] == before[1] != after[0] == after[1]
        assert b"Renamed" in after[0]

    def test_files_are_addresses_in_the_content(self, story: AlternatingServers) -> None:
        """The service stores no files of its own, so servers have no folder in common."""
        image = {
            "address": "/pictures/a.png", "fullAddress": "https://files.example.org/pictures/a.png",
            "mimeType": "image/png", "protocol": "https", "title": "A",
        }  # fmt: skip
        element, _ = story.created("Illustrated")
        change = {"elements": [{"id": element, "attributes": {"images": {"127": [image]}}}]}
        assert story.ask("POST", PROCESSES, change).status == 200
        found = story.ask("GET", f"{PROCESSES}/{element}").body["elements"][0]["attributes"]["images"]
        assert found == {"127": [image]}

    def test_streams(self, story: AlternatingServers) -> None:
        made = [{"type": "system", "attributes": {"name": {"1033": f"System {number}"}}} for number in range(600)]
        for start in range(0, 600, 300):
            assert story.ask("POST", SYSTEMS, {"elements": made[start : start + 300]}).status == 200
        replies = [story.ask("GET", SYSTEMS) for _ in range(2)]
        assert "content-length" not in replies[0].headers
        assert replies[0].content == replies[1].content
        assert len(replies[0].body["elements"]) >= 600


class TestAccess:
    def test_a_session_counts_at_both_servers(self, story: AlternatingServers) -> None:
        story.shell(ACCOUNTS)
        cookies = sign_in(story, PASSWORD)
        for _ in range(4):
            page = story.ask("GET", OFFICE, Authorization="", Cookie=cookies)
            assert (page.status, b"jo" in page.content) == (200, True)

    def test_failed_sign_ins_are_counted_together(self, story: AlternatingServers) -> None:
        statuses = [attempt(story, "wrong", "198.51.100.7").status for _ in range(8)]
        assert statuses == [200] * 5 + [429] * 3

    def test_a_revoked_token_is_refused_by_both_servers(self, story: AlternatingServers) -> None:
        token = story.manage("issue_token", "acme", "handbook", "--name", "short", "--role", "viewer").strip()
        given = {"Authorization": f"Bearer {token}"}
        assert [story.ask("GET", PROCESSES, **given).status for _ in range(2)] == [200, 200]
        story.manage("revoke_token", "acme", "handbook", "short", at=1)
        assert [story.ask("GET", PROCESSES, **given).status for _ in range(2)] == [401, 401]

    def test_throttles_count_in_each_process(self, story: AlternatingServers) -> None:
        """A client reaches the burst of one process, times the processes of all servers."""
        given = {"Authorization": "", "X_Forwarded_For": "203.0.113.9"}
        started = time.monotonic()
        statuses = Counter(story.ask("GET", f"{API}/rest/info", **given).status for _ in range(4 * BURST))
        refilled = (time.monotonic() - started) * 0.5 + 1
        processes = len(story.servers) * WORKERS
        assert statuses.keys() == {200, 429}
        assert processes * BURST <= statuses[200] <= processes * (BURST + refilled)


class TestOperation:
    def test_each_server_counts_its_own_metrics_and_all_requests_are_counted(self, story: AlternatingServers) -> None:
        info = f"{API}/rest/info".replace("/acme/", "/rival/")
        before = [info_requests(story, at) for at in (0, 1)]
        for at in (0, 0, 0, 1):
            assert story.call(at, "GET", info, Authorization="").status == 200
        wait_for_info_requests(story, before, [3, 1])
        counted = (
            "SELECT coalesce(sum(requests), 0)::int FROM storage_requestcount r JOIN storage_storage s"
            " ON s.id = r.storage_id JOIN storage_storagecollection c ON c.id = s.collection_id WHERE c.key = 'rival'"
        )
        wait_for(lambda: story.primary.ask(counted) == 4, 25, "the counts of the servers are not added")

    def test_scheduled_jobs_run_once(self, story: AlternatingServers) -> None:
        versions = []
        for number in range(3):
            element, version = story.created(f"Expiring {number}")
            story.take(version, "InProcessToReleased")
            story.shell(END.format(version=version))
            versions.append(element)
        runs = [
            subprocess.Popen(
                [sys.executable, "manage.py", "run_lifecycle"],
                cwd=PROJECT_DIR, env=server.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for server in story.servers
        ]  # fmt: skip
        for each in runs:
            _, said = each.communicate(timeout=60)
            assert each.returncode == 0, said
        for element in versions:
            steps = story.ask("GET", f"{PROCESSES}/{element}/lifecycle").body["values"]
            assert Counter(each["toState"] for each in steps)["expired"] == 1, steps

    def test_the_doctor_notices_another_secret_key(self, story: AlternatingServers) -> None:
        sign_in(story, PASSWORD)
        assert findings(story, 0)["sessions"] == "ok"
        stranger = story.servers[1]
        usual = stranger.environ["REPOSITORY_SECRET_KEY"]
        stranger.environ["REPOSITORY_SECRET_KEY"] = usual[::-1]
        try:
            assert findings(story, 1)["sessions"] == "error"
        finally:
            stranger.environ["REPOSITORY_SECRET_KEY"] = usual


class TestProxy:
    def test_both_servers_answer_through_the_proxy(self, story: AlternatingServers, proxy: Proxy) -> None:
        before = [info_requests(story, at) for at in (0, 1)]
        replies = [through(proxy, story, "GET", f"{API}/rest/info") for _ in range(10)]
        assert {(each.status, each.content) for each in replies} == {(200, replies[0].content)}
        wait_for_info_requests(story, before, [5, 5])

    @pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["restarted", "killed"])
    def test_one_server_ends_under_load(self, story: AlternatingServers, proxy: Proxy, sent: signal.Signals) -> None:
        """Reads, and writes with an Idempotency-Key, have no errors while each server is started again."""
        with ProxyLoad(story, proxy, sent.name) as load:
            for server in story.servers:
                assert server.process is not None
                load.run_for(1)
                server.process.send_signal(sent)
                server.process.wait(60)
                load.run_for(2)
                server.launch("serve", "--workers", str(WORKERS))
                server.wait_until_ready()
                load.run_for(PENALTY)
        load.check()

    def test_migrations_are_applied_while_both_servers_run(self, story: AlternatingServers, proxy: Proxy) -> None:
        later = {**story.servers[0].environ, "DJANGO_SETTINGS_MODULE": "tests.faults.upgrade_settings"}
        with ProxyLoad(story, proxy, "migrated") as load:
            done = subprocess.run(
                [sys.executable, "manage.py", "migrate", "upgrade"],
                cwd=PROJECT_DIR, env=later, capture_output=True, text=True, timeout=180, check=False,
            )  # fmt: skip
            load.run_for(1)
        assert done.returncode == 0, done.stderr
        assert story.primary.ask("SELECT count(*) FROM django_migrations WHERE app = 'upgrade'") == 5
        load.check()


class ProxyLoad:
    """Readers and writers that use the service through the proxy."""

    def __init__(self, story: AlternatingServers, proxy: Proxy, name: str) -> None:
        self.story, self.proxy, self.name = story, proxy, name
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.made: dict[str, str] = {}
        self.stop = threading.Event()
        self.numbers = itertools.count()

    def __enter__(self) -> ProxyLoad:
        self.pool = ThreadPoolExecutor(5)
        self.tasks = [self.pool.submit(task) for task in (self.write, self.write, self.read, self.read, self.read)]
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop.set()
        for each in self.tasks:
            each.result()
        self.pool.shutdown()

    def run_for(self, seconds: float) -> None:
        time.sleep(seconds)

    def read(self) -> None:
        for path in itertools.cycle((f"{PROCESSES}?$pageSize=20", f"{API}/rest/info", f"{PROCESSES}/{ID['order']}")):
            self.statuses["read", through(self.proxy, self.story, "GET", path).status] += 1
            if self.stop.wait(0.02):
                return

    def write(self) -> None:
        while not self.stop.wait(0.02):
            name = f"{self.name} {next(self.numbers)}"
            element = {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": [{"id": ID["sales"]}]}
            reply = through(
                self.proxy,
                self.story,
                "POST",
                PROCESSES,
                {"elements": [element]},
                **{"Idempotency-Key": name.replace(" ", "-")},
            )
            self.statuses["write", reply.status] += 1
            if reply.status == 200:
                self.made[name] = reply.body["elements"][0]["id"]

    def check(self) -> None:
        listed = self.story.ask("GET", f"{PROCESSES}?$filter=StartsWith(name,%27{self.name}%20%27)").body["elements"]
        stored = {each["attributes"]["name"]["1033"]: each["id"] for each in listed}
        assert len(stored) == len(listed), "something was made twice"
        assert self.statuses.keys() == {("read", 200), ("write", 200)}, self.statuses
        assert stored == self.made
        tried = self.statuses.total()
        note("faults", TITLES[self.name], tried=tried, acknowledged=len(self.made), refused=0, seconds=0.0, lost=0)


def through(
    proxy: Proxy, story: AlternatingServers, method: str, path: str, body: object = None, **headers: str
) -> ServerReply:
    given = {"Host": HOST, "Authorization": f"Bearer {story.token}", **headers}
    return send(proxy.connect(), method, path, body, given)


def attempt(story: AlternatingServers, password: str, address: str) -> ServerReply:
    """Try to sign in at one server, with the form of the other one."""
    path = f"{OFFICE}login/"
    form = story.ask("GET", path, Authorization="", X_Forwarded_For=address)
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.content.decode())
    assert found
    given = {"username": "jo", "password": password, "csrfmiddlewaretoken": found[1], "next": OFFICE}
    return story.ask(
        "POST", path, urlencode(given), Authorization="", Content_Type="application/x-www-form-urlencoded",
        Cookie=form.headers["set-cookie"].partition(";")[0], Referer=f"https://{HOST}{path}", X_Forwarded_For=address,
    )  # fmt: skip


def sign_in(story: AlternatingServers, password: str) -> str:
    reply = attempt(story, password, "192.0.2.1")
    assert reply.status == 302, reply
    found = re.search(r"sessionid=\w+", reply.headers["set-cookie"])
    assert found, reply.headers
    return found[0]


def info_requests(story: AlternatingServers, at: int) -> int:
    with contextlib.closing(story.connect(at)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    pattern = r'^repository_request_duration_seconds_count\{.*operation="getStorageInfo".*\} (\d+)'
    return sum(int(float(each)) for each in re.findall(pattern, text, re.MULTILINE))


def wait_for_info_requests(story: AlternatingServers, before: list[int], expected: list[int]) -> None:
    """Wait until the servers have counted the requests, which they do after sending the responses (D653)."""
    wait_for(
        lambda: [info_requests(story, at) - before[at] for at in (0, 1)] == expected,
        10,
        f"the servers did not count {expected} requests",
    )


def findings(story: AlternatingServers, at: int) -> dict[str, str]:
    done = story.servers[at].manage("doctor", "--json", "--only", "sessions")
    return {each["check"]: each["level"] for each in json.loads(done.stdout)["findings"]}
