"""The rest of a request body that is refused as too large (D457)."""

from __future__ import annotations

from contextlib import suppress

from django.http import HttpRequest

PIECE = 128 * 1024
# Bytes of a refused body that are read in any case.
LEAST = 16 * 1024 * 1024


def discard_body(request: HttpRequest, left: int | None, limit: int, *, already: int = 0) -> None:
    """Read the rest of a body, up to twice the limit together with what was read `already`.

    Many clients read the response only after they have sent everything. If the server closed the connection earlier,
    they would see a reset instead. A client that waits for `100 Continue` has not sent anything, and reading would make
    it send its body.
    """
    if not already and "100-continue" in request.META.get("HTTP_EXPECT", "").lower():
        return
    room = max(2 * limit, LEAST) - already
    room = room if left is None else min(room, left)
    with suppress(OSError):
        while room > 0 and (piece := request.META["wsgi.input"].read(min(PIECE, room))):
            room -= len(piece)
