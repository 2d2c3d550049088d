"""The lifecycle log and the tasks."""

from release.models.entries import LifecycleEntry
from release.models.tasks import Task

__all__ = ["LifecycleEntry", "Task"]
