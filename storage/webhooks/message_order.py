"""Order of messages: of each subject, only the first message that waits can be sent (D340).

`is_first` marks it, so that no query has to read the messages behind it. Callers lock the webhook first.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from repository_site.core.database.statements import fetch, id_array, look_up

# With the order PostgreSQL uses the index of subjects, however many messages it expects.
_UNMARKED = """SELECT f.id FROM unnest(%s::uuid[]) AS s(id) CROSS JOIN LATERAL (
        SELECT d.id, d.is_first FROM storage_webhookdelivery d
        WHERE d.webhook_id = %s::uuid AND d.state = 'waiting' AND d.subject_id = s.id
        ORDER BY d.number, d.id LIMIT 1) AS f
    WHERE NOT f.is_first"""
_MARK = "UPDATE storage_webhookdelivery d SET is_first = true WHERE d.id = ANY(%s::uuid[])"
_UNMARK = """UPDATE storage_webhookdelivery d SET is_first = false
    WHERE d.webhook_id = %s::uuid AND d.state = 'waiting' AND d.is_first AND d.subject_id = ANY(%s::uuid[])"""
_LEFT = """SELECT DISTINCT d.subject_id FROM storage_webhookdelivery d WHERE d.webhook_id = %s::uuid
    AND d.state = 'waiting' AND d.subject_id NOT IN (SELECT f.subject_id FROM storage_webhookdelivery f
        WHERE f.webhook_id = %s::uuid AND f.state = 'waiting' AND f.is_first)"""


def mark_first(webhook: UUID, subjects: Iterable[UUID]) -> None:
    """Mark the first message that waits of each subject, after messages were added, or have ended."""
    wanted = id_array({str(each) for each in subjects})
    if found := look_up(_UNMARKED, [wanted, webhook]):
        look_up(_MARK, [id_array(str(row[0]) for row in found)])


def mark_first_again(webhook: UUID, subjects: Iterable[UUID]) -> None:
    """Mark the first messages after older ones wait again."""
    wanted = {str(each) for each in subjects}
    look_up(_UNMARK, [webhook, id_array(wanted)])
    mark_first(webhook, map(UUID, wanted))


def mark_subjects_left(webhook: UUID) -> None:
    """Mark the first messages of subjects that lack one: it was deleted, or an older release has ended it."""
    mark_first(webhook, [row[0] for row in fetch(_LEFT, [webhook, webhook])])
