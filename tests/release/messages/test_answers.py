"""Answers of mail servers, and what becomes of the mail (RFC 5321, RFC 3463, D352)."""

from __future__ import annotations

import pytest

from storage.messages.answers import MailStep, Result, judge


@pytest.mark.parametrize(
    ("step", "code", "text", "result"),
    [
        (MailStep.SENDER, 552, "Message size exceeds fixed limit", Result.REFUSED),
        (MailStep.SENDER, 554, "5.3.4 Message too big", Result.REFUSED),
        (MailStep.SENDER, 550, "5.7.1 Sender not allowed", Result.NO_SERVER),
        (MailStep.SENDER, 553, "5.1.8 Sender address rejected", Result.NO_SERVER),
        (MailStep.SENDER, 452, "4.3.1 Insufficient system storage", Result.NO_SERVER),
        (MailStep.SENDER, 530, "5.7.0 Authentication required", Result.NO_SERVER),
        (MailStep.RECIPIENT, 550, "5.1.1 <ben@example.org>: no such user", Result.UNKNOWN_ADDRESS),
        (MailStep.RECIPIENT, 550, "No such user", Result.UNKNOWN_ADDRESS),
        (MailStep.RECIPIENT, 550, "5.0.0 User unknown", Result.UNKNOWN_ADDRESS),
        (MailStep.RECIPIENT, 550, "5.2.1 Mailbox disabled", Result.UNKNOWN_ADDRESS),
        (MailStep.RECIPIENT, 553, "5.1.3 Bad address", Result.UNKNOWN_ADDRESS),
        (MailStep.RECIPIENT, 554, "5.7.1 Relay access denied", Result.REFUSED),
        (MailStep.RECIPIENT, 550, "5.2.3 Too large for this recipient", Result.REFUSED),
        (MailStep.RECIPIENT, 550, "5.1.8 Domain of the sender does not exist", Result.NO_SERVER),
        (MailStep.RECIPIENT, 552, "5.2.2 Mailbox full", Result.LATER),
        (MailStep.RECIPIENT, 552, "Mailbox full", Result.LATER),
        (MailStep.RECIPIENT, 552, "5.3.4 Message too big", Result.REFUSED),
        (MailStep.RECIPIENT, 550, "5.2.2 Over quota", Result.LATER),
        (MailStep.RECIPIENT, 450, "4.2.0 Greylisted", Result.LATER),
        (MailStep.RECIPIENT, 452, "4.5.3 Too many recipients", Result.LATER),
        (MailStep.RECIPIENT, 421, "4.7.0 Try again later", Result.NO_SERVER),
        (MailStep.RECIPIENT, 530, "5.7.0 Must issue a STARTTLS command first", Result.NO_SERVER),
        (MailStep.CONTENT, 451, "4.3.0 Local error", Result.LATER),
        (MailStep.CONTENT, 552, "5.3.4 Message too big", Result.REFUSED),
        (MailStep.CONTENT, 552, "Message too big", Result.REFUSED),
        (MailStep.CONTENT, 554, "5.7.1 Looks like spam", Result.REFUSED),
        (MailStep.CONTENT, 550, "5.1.1 No such user", Result.UNKNOWN_ADDRESS),
        (MailStep.CONTENT, 552, "5.2.2 Mailbox full", Result.LATER),
        (MailStep.CONTENT, 421, "Closing", Result.NO_SERVER),
    ],
)
def test_what_an_answer_means(step: MailStep, code: int, text: str, result: Result) -> None:
    assert judge(step, code, text) is result
