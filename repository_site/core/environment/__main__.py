"""Write the reference of the settings."""

from __future__ import annotations

from repository_site.core.environment.reference import PAGE, reference

PAGE.write_text(reference(), encoding="utf-8")
