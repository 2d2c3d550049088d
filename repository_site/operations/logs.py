"""JSON logs: one object a line with time, level, request id, storage and caller, without credentials."""

from __future__ import annotations

import logging
import re
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

# Our tokens, wherever they occur: in an address, in a message, in a traceback.
TOKEN_PATTERN = re.compile(r"crt_[A-Za-z0-9_-]{16,}")


def mask_tokens(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return {
        name: TOKEN_PATTERN.sub("crt_***", value) if isinstance(value, str) else value for name, value in event.items()
    }


class NoThreadAdvice(logging.Filter):
    """Drops the warning of granian about more threads than cores: our threads mostly wait for the database."""

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


# Tracebacks become text before tokens are masked. A renderer that shows local variables would reveal tokens.
FINAL_PROCESSORS: list[structlog.typing.Processor] = [structlog.processors.format_exc_info, mask_tokens]


def logging_settings(level: str, form: str) -> dict[str, Any]:
    """Return the LOGGING dictionary. structlog and the standard library use the same formatter."""
    structlog.configure(
        # Drop entries below the level before anything else is done with them.
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED_PROCESSORS,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *FINAL_PROCESSORS, renderer],
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
            # It reports the start and the end of each job; `storage.jobs` reports failures.
            "procrastinate": {"level": "WARNING"},
            # The request line already reports every 4xx.
            "django.request": {"level": "ERROR"},
            # A request with a wrong host name is not our error; the request line reports the 400.
            "django.security.DisallowedHost": {"handlers": [], "level": "CRITICAL", "propagate": False},
            "django.server": {"handlers": [], "propagate": True},
        },
    }
