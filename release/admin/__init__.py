"""The lifecycle in the back office of a storage."""

from release.admin import element_panels, tasks

__all__ = ["element_panels", "tasks"]
