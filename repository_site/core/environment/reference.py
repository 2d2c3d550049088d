"""The reference of the settings, which `python -m repository_site.core.environment` writes."""

from __future__ import annotations

from repository_site.core.environment import DATA_DIR, PROJECT_DIR, VARIABLES

PAGE = PROJECT_DIR / "docs/reference/settings.md"


def reference() -> str:
    """Return the settings as a Markdown page, which is `docs/reference/settings.md`."""
    lines = [
        "# Settings",
        "",
        "Environment variables configure the service. `make docs` generates this page from the code.",
        "",
        "| variable | default | meaning |",
        "|---|---|---|",
    ]
    for variable in VARIABLES:
        default = (
            "`var` in the project" if variable is DATA_DIR else f"`{variable.default}`" if variable.default else ""
        )
        lines.append(f"| `{variable.name}` | {default} | {variable.help} |")
    return "\n".join(lines) + "\n"
