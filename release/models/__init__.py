"""What happened to versions, and what waits for somebody."""

from release.models.entries import LifecycleEntry
from release.models.tasks import Task

__all__ = ["LifecycleEntry", "Task"]
