"""Server processes keep Django's state of a thread in the memory of the thread (D612)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.conf import LazySettings, settings
from django.test import override_settings
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone
from django.utils.functional import LazyObject
from django.utils.translation import activate, get_language

from repository_site.operations.thread_state import PLACES, keep_state_in_threads


@pytest.fixture(autouse=True)
def _as_in_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name in PLACES:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(LazySettings, "__getattribute__", LazyObject.__getattribute__)
    keep_state_in_threads()


def test_every_thread_has_its_own_state() -> None:
    """Django does not document the attributes that the server replaces."""
    arrived = Barrier(2)

    def use(language: str, zone: str) -> tuple[str, ...]:
        before = get_script_prefix(), str(get_urlconf()), str(get_language()), timezone.get_current_timezone_name()
        set_script_prefix(f"/{language}/")
        set_urlconf(language)
        activate(language)
        timezone.activate(zone)
        arrived.wait(timeout=30)
        after = get_script_prefix(), str(get_urlconf()), str(get_language()), timezone.get_current_timezone_name()
        return *before, *after

    with ThreadPoolExecutor(2) as threads:
        found = [each.result() for each in [threads.submit(use, "de", "Asia/Tokyo"), threads.submit(use, "fr", "UTC")]]
    default = "/", "None", settings.LANGUAGE_CODE, settings.TIME_ZONE
    assert found == [
        (*default, "/de/", "de", "de", "Asia/Tokyo"),
        (*default, "/fr/", "fr", "fr", "UTC"),
    ]


def test_settings_are_those_of_the_project() -> None:
    names = [settings.ROOT_URLCONF]
    with override_settings(ROOT_URLCONF="tests.shelves.urls"):
        names.append(settings.ROOT_URLCONF)
    assert [settings.ROOT_URLCONF, *names] == ["repository_site.urls", "repository_site.urls", "tests.shelves.urls"]
    with pytest.raises(AttributeError):
        getattr(settings, "UNKNOWN")  # noqa: B009  mypy knows all settings
    assert "ROOT_URLCONF" in dir(settings)
