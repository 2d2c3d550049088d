"""The tests of known attacks exist, and a failure among them fails `make attack`."""

from __future__ import annotations

import pytest

from repository_site.core.environment import PROJECT_DIR
from tests.attack import repelled
from tests.attack.repelled import ATTACKS, run_tests


def test_every_attack_has_a_test() -> None:
    assert [file for file in ATTACKS.values() if "def test_" not in (PROJECT_DIR / file).read_text("utf-8")] == []


@pytest.mark.long
def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("attacks") / "test_one.py"
    # Without the settings and plugins of the project, which take seconds to load.
    settings = file.with_name("pytest.ini")
    settings.write_text("[pytest]\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(repelled, "ATTACKS", {"settings": f"--config-file={settings}", "one": str(file)})
    for outcome in ("True", "False"):
        file.write_text(f"def test_one() -> None:\n    assert {outcome}, 'not repelled'\n")
        assert ("not repelled" in run_tests()) is (outcome == "False")
