"""Fixtures for all tests, the order of test files, and the check that a whole run calls every operation."""

from __future__ import annotations

import gc
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.template import Template
from django.urls import get_resolver
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django.plugin import DjangoDbBlocker
from xdist.scheduler import LoadFileScheduling

from repository_site.api_document.document import openapi_document
from storage.events import waking
from storage.models import Storage
from tests import api_client
from tests.api_client import ApiClient
from tests.citus import SWITCH, delete_rows, use_cluster
from tests.copied_tables import watch_requests
from tests.databases import drop_database, emptied_by, emptied_by_deleting, make_database
from tests.factories import StorageFactory
from tests.filled_storages import NEXT_TEST, FilledStorages
from tests.migrated_clusters import MigratedClusters
from tests.named_storages import StorageWatch
from tests.quick_connections import make_connections_quick
from tests.server_process import DataFolders
from tests.single_tasks import TaskWatch

# Threads close their connections at once, so that the database can be dropped at the end.
waking.IDLE = 0.0
make_connections_quick()
watch_requests()
StorageMaker = Callable[..., AbstractContextManager[Storage]]
QUICK = "not long and not fault"
TOGETHER = re.compile(r"tests/(browser/(test_(?=[a-o]))?|citus_cluster/running/|repository_site/running_server/)")
"""Folders with a server for all of their tests. Those of browsers are two halves: together they would take longest."""
LONGEST = ("tests/faults/test_webhooks.py", "tests/faults/test_failover.py", "tests/faults/test_jobs.py")
"""Files that take more than a minute. They start first: otherwise one of them would run alone at the end."""
OWN_CLUSTERS = "citus_cluster"
"""Folder of tests that start their own clusters."""
ON_CITUS = bool(os.environ.get(SWITCH))
documented: set[tuple[str, str]] = set()
"""Operations of the OpenAPI document, which the processes of a parallel run have loaded anyway."""
# Random cases fail for what they find, never because the machine is busy.
hypothesis_settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("patient")
# New objects between two runs of the garbage collector; the default is 700. Collecting and running tests makes millions.
gc.set_threshold(300_000)
# pytest-django replaces it at the start of the run.
render_template = Template._render  # type: ignore[attr-defined]  # the stubs do not know it
NOT_QUICK = re.compile(r"^pytestmark = .*\bpytest\.mark\.(long|fault)\b", re.MULTILINE)


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
    storage_watch: StorageWatch,
    task_watch: TaskWatch,
    data_folders: DataFolders,
) -> Iterator[None]:
    """Replace pytest-django's fixture, which migrates a database for each process."""
    if ON_CITUS:
        clusters = MigratedClusters(data_folders.folder)
        with django_db_blocker.unblock(), clusters.running(tmp_path_factory.mktemp("citus")) as cluster:
            use_cluster(cluster)
            connection.close()
            storage_watch.take()
            task_watch.begin()
            with emptied_by(partial(delete_rows, cluster)):
                yield
        return
    with django_db_blocker.unblock():
        original = connection.settings_dict["NAME"]
        name = connection.settings_dict["TEST"]["NAME"] or f"test_{original}"
        make_database(name)
    # Migrations change the rows of all storages.
    storage_watch.take()
    with emptied_by_deleting():
        yield
    with django_db_blocker.unblock():
        drop_database(name, original)


@pytest.fixture(scope="session", autouse=True)
def templates_are_not_recorded(django_test_environment: None) -> None:
    """Render templates as a server does. Django would copy the context of every template, which no test reads."""
    Template._render = render_template  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def storage_watch() -> StorageWatch:
    return StorageWatch()


def pytest_runtest_setup() -> None:
    """Forget the caller of the last request of the previous test: events of this test would name it."""
    structlog.contextvars.clear_contextvars()


@pytest.fixture(autouse=True)
def statements_name_their_storage(storage_watch: StorageWatch) -> Iterator[None]:
    """Fail if a statement of the test, or of a fixture before it, does not name the storage of a tenant table."""
    yield
    assert storage_watch.take() == []


@pytest.fixture(scope="session")
def task_watch() -> TaskWatch:
    """The check of every statement on the cluster of the process, which begins when it has its tables."""
    return TaskWatch()


if ON_CITUS:

    @pytest.fixture(autouse=True)
    def statements_have_one_task(task_watch: TaskWatch) -> Iterator[None]:
        """Fail if a statement of the test, or of a fixture before it, needs several nodes or several steps.

        Tests of clusters of their own need no cluster of the process, so this does not start one.
        """
        yield
        assert task_watch.take() == []


@pytest.fixture
def api() -> ApiClient:
    return ApiClient()


@pytest.fixture
def storage(other_storage: Storage) -> Storage:
    """The storage under test; no anonymous access."""
    return StorageFactory.create(collection="acme", key="handbook", title="Handbook")


@pytest.fixture
def other_storage(db: None) -> Storage:
    """Another tenant, so that a leak shows."""
    return StorageFactory.create(collection="rival", key="handbook", title="Rival's handbook")


@pytest.fixture
def open_storage(other_storage: Storage) -> Storage:
    """A storage with anonymous reading."""
    return StorageFactory.create(collection="acme", key="open", title="Open", anonymous="read")


@pytest.fixture(scope="session")
def filled_storage(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> StorageMaker:
    """Create a storage with the elements of a file outside any test's transaction, see `filled_storages.py`."""
    return FilledStorages(request.session, django_db_blocker)


@pytest.fixture(scope="session")
def data_folders(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> DataFolders:
    """Data folders that all processes of the run share."""
    folder = tmp_path_factory.getbasetemp()
    return DataFolders(folder if worker_id == "master" else folder.parent)


class FilesTogether(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Keep the tests of a file, and those of some folders, in one process, because they share fixtures."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        found = TOGETHER.match(file)
        return found.group() if found else file


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    item.session.stash[NEXT_TEST] = nextitem


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that run a server: they take longest. pytest-django would put them last.

    Inside a folder, files with the same shared storage follow each other.
    """
    modules: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        modules[item.path] |= {*getattr(item, "fixturenames", ())} & {"handbook", "house", "limited", "showcase"}

    def place(item: pytest.Item) -> tuple[bool, bool, Path, list[str]]:
        is_slow = any(item.get_closest_marker(name) for name in ("server", "browser"))
        return not item.nodeid.startswith(LONGEST), not is_slow, item.path.parent, sorted(modules[item.path])

    items.sort(key=place)
    if ON_CITUS:
        _skip_tests_of_one_node(items)


def _skip_tests_of_one_node(items: list[pytest.Item]) -> None:
    for item in items:
        if found := item.get_closest_marker("one_node"):
            item.add_marker(pytest.mark.skip(found.args[0]))
        elif item.get_closest_marker("own_cluster") or OWN_CLUSTERS in item.path.parts:
            continue
        elif any(item.get_closest_marker(name) for name in ("server", "browser")):
            item.add_marker(pytest.mark.skip("starts a server with a database of its own"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules of which a whole quick run would deselect every test: they are a third of all.

    A folder with such modules only is left out as well: its conftest may load much, such as a browser's driver.
    """
    if not is_whole_run(config):
        return None
    found = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    modules = [path for path in found if path.name.startswith("test_")]
    return (bool(modules) and all(NOT_QUICK.search(path.read_text(encoding="utf-8")) for path in modules)) or None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the application as a server does, and exclude everything loaded from garbage collection.

    Otherwise the first request would import modules while a test replaces a name, which they would keep. Garbage
    collection of all modules would take a tenth of the run, and frequent collection of new objects a twentieth.
    """
    if session.items:
        WSGIHandler()
        for urls in (settings.ROOT_URLCONF, settings.STORAGE_URLCONF):
            get_resolver(urls).url_patterns  # noqa: B018  loads them
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    return FilesTogether(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Add the operations that a finished process of a parallel run has called, and take over which there are."""
    output = getattr(node, "workeroutput", {})
    api_client.called.update((path, verb) for path, verb in output.get("called", []))
    documented.update((path, verb) for path, verb in output.get("documented", []))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a whole run if no test got a 200 response from one of the documented operations."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["called"] = sorted(api_client.called)
        session.config.workeroutput["documented"] = documented_operations()
    elif exitstatus == 0 and is_whole_run(session.config) and operations_not_called():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    without_browser = [each for each in terminalreporter.stats.get("skipped", ()) if "NO BROWSER" in str(each.longrepr)]
    if without_browser:
        text = f"{len(without_browser)} TESTS WERE SKIPPED: there is no chromium here; `make browser` installs it."
        terminalreporter.write_line(text, red=True, bold=True)
    # Also beside failed tests: what is mended next should be the last.
    if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and is_whole_run(config):
        for path, verb in operations_not_called():
            terminalreporter.write_line(f"No test has called {verb.upper()} {path} with success.", red=True)


def operations_not_called() -> list[tuple[str, str]]:
    return sorted({*(documented or documented_operations())} - api_client.called)


def documented_operations() -> list[tuple[str, str]]:
    return [(path, verb) for path, operations in openapi_document()["paths"].items() for verb in operations]


def is_whole_run(config: pytest.Config) -> bool:
    option = config.option
    usual = option.markexpr == QUICK and not (option.keyword or option.deselect or option.lf)
    return usual and config.args == config.getini("testpaths")
