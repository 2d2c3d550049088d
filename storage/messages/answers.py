"""One attempt to send a mail, and what the answer of the mail server means for it (D352)."""

from __future__ import annotations

import re
import smtplib
from dataclasses import dataclass
from enum import Enum, auto

from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

LONGEST_ERROR = 500
# Subject and detail of an enhanced status code (RFC 3463), such as 1.1 of "5.1.1 No such user".
STATUS = re.compile(r"[245]\.(\d{1,3}\.\d{1,3})\b")
# The server ends the conversation, or wants another sign-in or encryption.
SERVER_CODES = frozenset({421, 530, 534, 535, 538})
SENDER_STATUS = frozenset({"1.7", "1.8"})
TOO_LARGE, TOO_LARGE_STATUS = 552, "3.4"
MAILBOX_FULL, MAILBOX_DISABLED = "2.2", "2.1"


class Result(Enum):
    SENT = auto()
    LATER = auto()
    REFUSED = auto()
    """The server refuses this mail for good."""
    UNKNOWN_ADDRESS = auto()
    """The server refuses the address for good."""
    NO_SERVER = auto()
    """The server accepts no mails now, or none from this sender."""


class MailStep(Enum):
    SENDER = auto()
    RECIPIENT = auto()
    CONTENT = auto()


@dataclass(frozen=True, slots=True)
class MailOutcome:
    """`error` is for administrators: servers repeat the address in it. `reason` is for logs, without addresses."""

    result: Result
    error: str = ""
    reason: str = ""


def attempt(connection: EmailBackend, message: EmailMessage) -> MailOutcome:
    try:
        connection.open()
        connection.send_messages([message])
    except smtplib.SMTPSenderRefused as problem:
        return _answered(MailStep.SENDER, problem.smtp_code, problem.smtp_error)
    except smtplib.SMTPRecipientsRefused as problem:
        code, text = next(iter(problem.recipients.values()))
        return _answered(MailStep.RECIPIENT, code, text)
    except smtplib.SMTPDataError as problem:
        return _answered(MailStep.CONTENT, problem.smtp_code, problem.smtp_error)
    except smtplib.SMTPResponseException as problem:
        # The greeting, the encryption or the sign-in.
        error = _text(problem.smtp_code, problem.smtp_error)
        return MailOutcome(Result.NO_SERVER, error, str(problem.smtp_code))
    except (smtplib.SMTPException, OSError) as problem:
        return _failed(Result.NO_SERVER, problem)
    except Exception as problem:
        # Such as a domain that is too long in its encoded form. Other mails go on.
        return _failed(Result.REFUSED, problem)
    return MailOutcome(Result.SENT)


def judge(step: MailStep, code: int, text: str) -> Result:
    """Return what an answer means. The enhanced status code, if there is one, tells more than the step and the code."""
    found = STATUS.match(text)
    status = found[1] if found and found[1] != "0.0" else ""
    if code in SERVER_CODES or status in SENDER_STATUS:
        return Result.NO_SERVER
    is_too_large = status == TOO_LARGE_STATUS or (code == TOO_LARGE and step is not MailStep.RECIPIENT)
    if step is MailStep.SENDER:
        return Result.REFUSED if is_too_large else Result.NO_SERVER
    # 552 as the answer to a recipient is temporary (RFC 5321, 4.5.3.1.10): a full mailbox.
    if code < 500 or status == MAILBOX_FULL or (code == TOO_LARGE and not is_too_large):
        return Result.LATER
    is_address = status.startswith("1.") or status == MAILBOX_DISABLED if status else step is MailStep.RECIPIENT
    return Result.UNKNOWN_ADDRESS if is_address else Result.REFUSED


def _answered(step: MailStep, code: int, text: bytes | str) -> MailOutcome:
    error = _text(code, text)
    return MailOutcome(judge(step, code, error.partition(" ")[2]), error, str(code))


def _text(code: int, text: bytes | str) -> str:
    shown = text.decode(errors="replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(shown.split())}".replace("\0", "")[:LONGEST_ERROR]


def _failed(result: Result, problem: Exception) -> MailOutcome:
    name = type(problem).__name__
    return MailOutcome(result, f"{name}: {problem}"[:LONGEST_ERROR].replace("\0", ""), name)
