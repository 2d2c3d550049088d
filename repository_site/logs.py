"""JSON logs: one object a line with time, level, request id, storage and caller; credentials never get in."""

from __future__ import annotations

import logging
import re
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

# Tokens as we issue them, wherever they turn up (an address in a message, a header in a traceback).
TOKEN_PATTERN = re.compile(r"crt_[A-Za-z0-9_-]{16,}")


def mask_tokens(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return {
        name: TOKEN_PATTERN.sub("crt_***", value) if isinstance(value, str) else value for name, value in event.items()
    }


class NoThreadAdvice(logging.Filter):
    """The server warns of more threads than cores at every start; ours mostly wait for the database, on purpose."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.name == "_granian" and "Python threads" in record.getMessage())


SHARED_PROCESSORS: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.stdlib.PositionalArgumentsFormatter(),
]


def logging_settings(level: str, form: str) -> dict[str, Any]:
    """The LOGGING dictionary; structlog and the standard library end in the same formatter."""
    structlog.configure(
        processors=[*SHARED_PROCESSORS, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, mask_tokens, structlog.processors.JSONRenderer()]
        if form == "json"
        else [mask_tokens, structlog.dev.ConsoleRenderer()]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED_PROCESSORS,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
            }
        },
        "filters": {"no_advice": {"()": NoThreadAdvice}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["no_advice"]}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            "django": {
                "handlers": [],
                "level": max(level.upper(), "INFO", key=logging.getLevelName),
                "propagate": True,
            },
            # Every 4xx is already in the request line; a second line each would only double the log.
            "django.request": {"level": "ERROR"},
            "django.server": {"handlers": [], "propagate": True},
        },
    }
