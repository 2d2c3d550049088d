"""The secret key of an installation without a configured one: created once, in the data folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def load_or_make_secret_key(path: Path, keep: bool = True) -> str:
    """Return the secret key. Several processes may start at once on an empty folder; the link lets exactly one win.

    Without `keep`, a new key is not written.
    """
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        if not keep:
            return secrets.token_urlsafe(64)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(64) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
