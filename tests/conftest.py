"""Fixtures for every test, and the check that every operation of the API is called by some test."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker
from xdist.scheduler import LoadFileScheduling

from elements.transfer.importing import import_elements
from repository_site.api_document.document import openapi_document
from storage.models import Storage
from storage.provisioning.provision import remove_storage
from tests import api_client
from tests.api_client import ApiClient
from tests.databases import drop_database, make_database
from tests.factories import StorageFactory
from tests.server_process import DataFolders

StorageMaker = Callable[..., AbstractContextManager[Storage]]


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Replace pytest-django's fixture, which migrates a database for each process."""
    with django_db_blocker.unblock():
        original = connection.settings_dict["NAME"]
        name = connection.settings_dict["TEST"]["NAME"] or f"test_{original}"
        make_database(name)
    yield
    with django_db_blocker.unblock():
        drop_database(name, original)


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
    """A storage that allows anonymous reading."""
    return StorageFactory.create(collection="acme", key="open", title="Open", anonymous="read")


@pytest.fixture(scope="session")
def filled_storage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> StorageMaker:
    """Create storages with the elements of a file, outside the transaction of a test, and remove them afterwards."""

    @contextmanager
    def fill(lines: Path, **fields: Any) -> Iterator[Storage]:
        with django_db_blocker.unblock():
            storage = StorageFactory.create(**fields)
        try:
            with django_db_blocker.unblock():
                import_elements(storage, str(lines))
            yield storage
        finally:
            with django_db_blocker.unblock():
                remove_storage(storage)

    return fill


@pytest.fixture(scope="session")
def data_folders(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> DataFolders:
    """Data folders of this run, which all its processes share."""
    folder = tmp_path_factory.getbasetemp()
    return DataFolders(folder if worker_id == "master" else folder.parent)


class FilesTogether(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Run all tests of a file in one process, because they share fixtures; all browser tests share one process."""

    def _split_scope(self, nodeid: str) -> str:
        return "browser" if nodeid.startswith("tests/browser/") else nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with their own server first, because they take longest. pytest-django puts them last, so this hook
    runs after it."""
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("server", "browser")))


def pytest_collection_finish() -> None:
    """Exclude all objects that exist now from garbage collection, which saves a tenth of the run time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    return FilesTogether(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Collect the operations that a finished process of a parallel run has called."""
    output = getattr(node, "workeroutput", {})
    api_client.called.update((path, verb) for path, verb in output.get("called", []))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a whole run if no test got 200 from some operation of the OpenAPI document."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["called"] = sorted(api_client.called)
    elif exitstatus == 0 and is_whole_run(session.config) and operations_not_called():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    without_browser = [each for each in terminalreporter.stats.get("skipped", ()) if "NO BROWSER" in str(each.longrepr)]
    if without_browser:
        text = f"{len(without_browser)} TESTS WERE SKIPPED: there is no chromium here; `make browser` installs it."
        terminalreporter.write_line(text, red=True, bold=True)
    if exitstatus == 0 and is_whole_run(config):
        for path, verb in operations_not_called():
            terminalreporter.write_line(f"No test has called {verb.upper()} {path} with success.", red=True)


def operations_not_called() -> list[tuple[str, str]]:
    paths = openapi_document()["paths"]
    operations = {(path, verb) for path, operations in paths.items() for verb in operations}
    return sorted(operations - api_client.called)


def is_whole_run(config: pytest.Config) -> bool:
    option = config.option
    usual = option.markexpr == "not long and not fault" and not (option.keyword or option.deselect)
    return usual and config.args == config.getini("testpaths")
