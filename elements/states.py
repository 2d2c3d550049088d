"""What the states of versions mean for reading: who may see them, and which may exist side by side (D6, D21)."""

from __future__ import annotations

DRAFT = frozenset({"inProcess"})
REVIEW = frozenset({"inReview", "readyForQa", "readyForRelease"})
PUBLISHED = frozenset({"released", "inEffect", "requestToExpire"})
RETIRED = frozenset({"expired"})
KNOWN = DRAFT | REVIEW | PUBLISHED | RETIRED
