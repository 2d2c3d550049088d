"""Fewer and smaller reports from the processes of a parallel run (D601)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdist.remote import WorkerInteractor


def send_few_reports(config: pytest.Config) -> None:
    """Let a process of a parallel run report each test once if it passes, and without its log. Nobody reads the reports of
    its setup and teardown, unless durations or the output of passed tests are asked for."""
    option = config.option
    if option.durations or set("pPA") & set(option.reportchars) or option.xmlpath:
        return
    for implementation in config.hook.pytest_runtest_logreport.get_hookimpls():
        if isinstance(implementation.plugin, WorkerInteractor):
            implementation.function = _few(implementation.function)  # type: ignore[misc]  # final for type checkers


def _few(send: Callable[..., object]) -> Callable[[pytest.TestReport], None]:
    def send_few(report: pytest.TestReport) -> None:
        if report.passed:
            report.sections = []
        if report.when == "call" or not report.passed:
            send(report=report)

    return send_few
