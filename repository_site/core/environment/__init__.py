"""The environment variables of the service, in one list.

`settings.py` reads only these, so every variable has a name, a type, a default and a description, and a wrong value
gives a one-line message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from repository_site.core.environment import values
from repository_site.core.environment.mail_server import read_mail_server, read_sender

T = TypeVar("T")


class EnvironmentProblem(Exception):
    """A variable has an invalid value; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Variable(Generic[T]):
    """An environment variable. `is_secret` keeps the value out of messages."""

    name: str
    parse: Callable[[str], T]
    default: str
    help: str
    is_secret: bool = False

    def read(self, environ: Mapping[str, str] | None = None) -> T:
        text = (os.environ if environ is None else environ).get(self.name, "").strip() or self.default
        try:
            return self.parse(text)
        except ValueError as problem:
            shown = "..." if self.is_secret else repr(text)
            raise EnvironmentProblem(f"{self.name}={shown}: {problem}") from None


PROJECT_DIR = Path(__file__).resolve().parents[3]

DATABASE_URL = Variable(
    "DATABASE_URL",
    values.database,
    "",
    "Address of PostgreSQL 15 or newer: `postgresql://user:password@host:port/name`. If empty, the service runs an "
    "embedded PostgreSQL 18 in the data folder. The role must be neither superuser nor BYPASSRLS.",
    is_secret=True,
)
DATABASE_REPLICA_URL = Variable(
    "DATABASE_REPLICA_URL",
    values.database,
    "",
    "Address of a read replica of `DATABASE_URL`, with the same role and database. It answers reads of clients that"
    " send `Prefer: replica`, and of commands with `--replica`, while it has the content of the primary.",
    is_secret=True,
)
DATABASE_LISTEN_URL = Variable(
    "DATABASE_LISTEN_URL",
    values.database,
    "",
    "Direct address of the database of `DATABASE_URL`, with the same role, for connections that wait for notifications:"
    " new jobs and clients that wait for changes. Set it if `DATABASE_URL` leads to a pooler such as PgBouncer in"
    " transaction mode, which loses notifications: they are then noticed within five seconds instead of at once. If"
    " empty, `DATABASE_URL`.",
    is_secret=True,
)
DATABASE_PREPARE = Variable(
    "DATABASE_PREPARE",
    values.boolean,
    "true",
    "Whether the service prepares statements, so that PostgreSQL plans them once per connection. Set it to `off` "
    "behind a PgBouncer in transaction mode that is older than 1.22 or has no `max_prepared_statements`.",
)
DATA_DIR = Variable(
    "REPOSITORY_DATA_DIR",
    values.path,
    str(PROJECT_DIR / "var"),
    "Folder for the embedded database and the generated secret key.",
)
POOL_SIZE = Variable(
    "REPOSITORY_POOL_SIZE", values.positive, "8", "Largest number of database connections of each worker process."
)
JOBS = Variable(
    "REPOSITORY_JOBS",
    values.number,
    "4",
    "Number of background jobs that the worker of `serve` runs at the same time; 0 for a server without a worker. The"
    " worker uses up to nine database connections more than that.",
)
SECRET_KEY = Variable(
    "REPOSITORY_SECRET_KEY",
    values.secret,
    "",
    "Key that signs sessions and the digests of API tokens; at least 50 random characters. If empty, the service "
    "creates one in the data folder, readable by the owner only.",
    is_secret=True,
)
SECRET_KEY_FALLBACKS = Variable(
    "REPOSITORY_SECRET_KEY_FALLBACKS",
    values.words,
    "",
    "Earlier secret keys, separated by commas, that are still accepted while sessions and tokens move to the new one.",
    is_secret=True,
)
PUBLIC_URL = Variable(
    "REPOSITORY_PUBLIC_URL",
    values.address,
    "",
    "Address that clients use, such as `https://repository.example.org`. If empty, addresses in responses use the "
    "scheme and host of each request.",
)
ALLOWED_HOSTS = Variable(
    "REPOSITORY_ALLOWED_HOSTS",
    values.words,
    "localhost,127.0.0.1,[::1]",
    "Host names that the server accepts, separated by commas. The host of the public address is always accepted.",
)
HTTPS = Variable(
    "REPOSITORY_HTTPS",
    values.boolean,
    "",
    "Whether clients use https: the service then sets secure cookies and HSTS, and refuses plain http. If empty, true "
    "for a public address that starts with https.",
)
HSTS_SUBDOMAINS = Variable(
    "REPOSITORY_HSTS_SUBDOMAINS",
    values.boolean,
    "true",
    "Whether HSTS includes the subdomains of the public address.",
)
TRUSTED_PROXIES = Variable(
    "REPOSITORY_TRUSTED_PROXIES",
    values.networks,
    "",
    "Addresses or networks of reverse proxies, separated by commas, whose `X-Forwarded-*` headers are trusted.",
)
BODY_LIMIT = Variable("REPOSITORY_BODY_LIMIT", values.positive, str(10 * 1024 * 1024), "Largest request body in bytes.")
FILE_LIMIT = Variable(
    "REPOSITORY_FILE_LIMIT", values.positive, str(100 * 1024 * 1024), "Largest uploaded file in bytes."
)
FILES_DIR = Variable(
    "REPOSITORY_FILES_DIR",
    values.path,
    "files",
    "Folder for the contents of uploaded files; a relative path is inside the data folder. Several servers must share"
    " this folder.",
)
FILES_BUCKET = Variable(
    "REPOSITORY_FILES_BUCKET",
    values.bucket,
    "",
    "Bucket for the contents of uploaded files, instead of a folder:"
    " `s3://bucket/folder?endpoint=https://s3.example.org&region=eu-central-1`. Folder, endpoint and region are"
    " optional. It needs the packages of `requirements-s3.txt`, and credentials where boto3 looks for them, such as"
    " `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.",
)
MAX_ELEMENTS = Variable(
    "REPOSITORY_MAX_ELEMENTS", values.positive, "1000", "Largest number of elements or content items in one request."
)
MARKUP_NESTING = Variable(
    "REPOSITORY_MARKUP_NESTING",
    values.positive,
    "100",
    "Largest nesting depth of the elements in an Html attribute. Pages show stored markup that is nested more deeply "
    "without the inner elements, but with their text.",
)
COMPARISON_EFFORT = Variable(
    "REPOSITORY_COMPARISON_EFFORT",
    values.positive,
    "2000000",
    "Largest number of steps for the comparison of texts on one page; a step visits one word. The page shows each "
    "further text as one change.",
)
MAX_VALUES = Variable(
    "REPOSITORY_MAX_VALUES",
    values.positive,
    "200000",
    "Largest number of JSON values in a request body, or in a line of a transfer file. An object or a list is a value, "
    "and so is everything in it.",
)
MAX_REFERENCES = Variable(
    "REPOSITORY_MAX_REFERENCES", values.positive, "1000", "Largest number of references in one related context."
)
MAX_ELEMENT_REFERENCES = Variable(
    "REPOSITORY_MAX_ELEMENT_REFERENCES",
    values.positive,
    "10000",
    "Largest number of references in all related contexts of an element, and of flows in a diagram.",
)
MAX_DEPTH = Variable("REPOSITORY_MAX_DEPTH", values.positive, "64", "Largest number of levels of a tree of elements.")
MAX_CHILDREN = Variable(
    "REPOSITORY_MAX_CHILDREN", values.positive, "10000", "Largest number of children of an element."
)
MAX_SHAPES = Variable("REPOSITORY_MAX_SHAPES", values.positive, "5000", "Largest number of shapes in a diagram.")
MAX_PERMALINKS = Variable(
    "REPOSITORY_MAX_PERMALINKS", values.positive, "100000", "Largest number of permalinks in a storage."
)
ATTRIBUTE_BYTES = Variable(
    "REPOSITORY_ATTRIBUTE_BYTES",
    values.positive,
    str(1024 * 1024),
    "Largest size in bytes of an attribute in one culture, as JSON. All attributes of an element together can be ten "
    "times as large.",
)
RESPONSE_BYTES = Variable(
    "REPOSITORY_RESPONSE_BYTES",
    values.positive,
    str(32 * 1024 * 1024),
    "Largest size in bytes of a response before compression. Larger lists are streamed, larger responses to "
    "changes contain only the identities of the elements, and other larger responses are refused. At least twenty "
    "times `REPOSITORY_ATTRIBUTE_BYTES`.",
)
KEPT_RESPONSE_BYTES = Variable(
    "REPOSITORY_KEPT_RESPONSE_BYTES",
    values.positive,
    str(1024 * 1024),
    "Largest size in bytes of a response that the service keeps for an `Idempotency-Key`. Of a larger response it "
    "keeps only the identities of the elements.",
)
STATEMENT_TIMEOUT = Variable(
    "REPOSITORY_STATEMENT_TIMEOUT", values.positive, "15", "Timeout in seconds of a database statement of a request."
)
STREAM_TIMEOUT = Variable(
    "REPOSITORY_STREAM_TIMEOUT",
    values.positive,
    "60",
    "Seconds after which the server closes the connection of a client that does not read its response, or does not "
    "send its body.",
)
STREAM_RATE = Variable(
    "REPOSITORY_STREAM_RATE",
    values.positive,
    "8192",
    "Bytes per second that a client must read while it has something to read, on average over "
    "`REPOSITORY_STREAM_TIMEOUT`. The server closes the connection of a slower client. The same applies to sending a "
    "body.",
)
MAX_FILTER_COST = Variable(
    "REPOSITORY_MAX_FILTER_COST",
    values.positive,
    "1000",
    "Largest cost of a `$filter`; the filter reference explains how it is counted.",
)
MAX_PAGE_SIZE = Variable(
    "REPOSITORY_MAX_PAGE_SIZE", values.positive, "1000", "Largest `$pageSize` that a client can request."
)
MAX_STORAGES = Variable(
    "REPOSITORY_MAX_STORAGES",
    values.number,
    "100",
    "Largest number of storages that the API provisions in a collection without a quota of its own. Commands and the "
    "back office of the installation can create more.",
)
TOKEN_DAYS = Variable(
    "REPOSITORY_TOKEN_DAYS",
    values.days,
    "90",
    "Days for which a new API token is valid if its issuer names no end; 1 to 3650.",
)
TOKEN_RATE = Variable(
    "REPOSITORY_TOKEN_RATE",
    values.rate,
    "300/3000",
    "Rate limit of one token in each worker process: requests per second and burst, or `off`.",
)
ANONYMOUS_RATE = Variable(
    "REPOSITORY_ANONYMOUS_RATE",
    values.rate,
    "100/1000",
    "Rate limit of one client address without a credential: requests per second and burst, or `off`.",
)
STORAGE_BUDGET = Variable(
    "REPOSITORY_STORAGE_BUDGET",
    values.budget,
    "0.5/5",
    "Work of one storage in each worker process: seconds of CPU and statement time per second, and a burst in seconds; "
    "or `off`. A storage that has used it up gets one place in each worker while other storages are active.",
)
CALLER_BUDGET = Variable(
    "REPOSITORY_CALLER_BUDGET",
    values.budget,
    "0.3/3",
    "The same for one caller of a storage, while other callers are active. Anonymous callers from one network are one "
    "caller.",
)
INVITATION_DAYS = Variable(
    "REPOSITORY_INVITATION_DAYS", values.days, "7", "Days for which the link of an invitation is valid; 1 to 3650."
)
SECOND_FACTOR = Variable(
    "REPOSITORY_SECOND_FACTOR",
    values.one_of("off", "administrators"),
    "off",
    "`administrators`: site administrators and administrators of storages need a second factor to sign in; or `off`: "
    "people choose.",
)
SIGN_IN_FAILURES = Variable(
    "REPOSITORY_SIGN_IN_FAILURES",
    values.positive,
    "5",
    "Failed sign-ins with one name from one address, within the window, after which further attempts are refused.",
)
SIGN_IN_FAILURES_PER_ADDRESS = Variable(
    "REPOSITORY_SIGN_IN_FAILURES_PER_ADDRESS",
    values.positive,
    "50",
    "The same limit for one address with any names. Many people may share an address.",
)
SIGN_IN_WINDOW = Variable(
    "REPOSITORY_SIGN_IN_WINDOW",
    values.positive,
    "15",
    "Length in minutes of the window in which failed sign-ins count, from the first one on.",
)
PUBLIC_STORAGE_LIST = Variable(
    "REPOSITORY_PUBLIC_STORAGE_LIST",
    values.boolean,
    "false",
    "Whether the landing page lists the storages that allow anonymous reading to visitors who are not signed in.",
)
EMAIL_URL = Variable(
    "EMAIL_URL",
    read_mail_server,
    "",
    "Mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the start (port 465). With a user, `smtp`"
    " requires STARTTLS; `?starttls=true` or `?starttls=false` at the end says otherwise. Needs"
    " `REPOSITORY_PUBLIC_URL`. If empty, messages are shown in the back office only.",
    is_secret=True,
)
DEFAULT_FROM_EMAIL = Variable(
    "DEFAULT_FROM_EMAIL",
    read_sender,
    "",
    "Sender of mails, such as `Repository <repository@example.org>`. If empty, `repository@` and the host of the public"
    " address.",
)
LOG_LEVEL = Variable(
    "REPOSITORY_LOG_LEVEL",
    values.one_of("debug", "info", "warning", "error"),
    "info",
    "Lowest level that is logged: debug, info, warning or error.",
)
LOG_FORMAT = Variable(
    "REPOSITORY_LOG_FORMAT",
    values.one_of("json", "console"),
    "json",
    "Log format: `json` (one object per line) or `console`.",
)
METRICS_NETWORKS = Variable(
    "REPOSITORY_METRICS_NETWORKS",
    values.networks_or_off,
    "127.0.0.0/8,::1",
    "Addresses or networks, separated by commas, that can read `/metrics` without the token if they connect directly, "
    "not through a proxy; or `off`.",
)
METRICS_TOKEN = Variable(
    "REPOSITORY_METRICS_TOKEN",
    values.metrics_secret,
    "",
    "Token that lets any client read `/metrics`, sent as `Authorization: Bearer`; at least 20 random characters.",
    is_secret=True,
)
METRICS_STORAGES = Variable(
    "REPOSITORY_METRICS_STORAGES",
    values.boolean,
    "false",
    "Whether metrics and traces name the storage of a request.",
)
WEBHOOK_NETWORKS = Variable(
    "REPOSITORY_WEBHOOK_NETWORKS",
    values.networks,
    "",
    "Addresses or networks, separated by commas, that webhooks and single sign-on can reach although they are private, "
    "such as `10.1.0.0/16`. Without them, both reach public addresses only.",
)
SIGN_ON_PROVIDERS = Variable(
    "REPOSITORY_SIGN_ON_PROVIDERS",
    values.sign_on_providers,
    "",
    "Identity providers for single sign-on, as a JSON list of objects with `id`, `name`, `issuer`, `clientId` and "
    "`clientSecret`, and optionally `collection`, `scopes`, `mailDomains`, `refusesPasswords`, `verifiesAddresses`, "
    "`acceptsTokens` and `audience`. The server stores them when it starts; the back office shows them.",
    is_secret=True,
)
TRACES = Variable(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    values.address,
    "",
    "Address of an OpenTelemetry collector for OTLP over http, such as `http://127.0.0.1:4318`. If empty, the service "
    "sends no traces. Needs `requirements-traces.txt`. OpenTelemetry reads the other `OTEL_*` variables.",
)
REGION = Variable(
    "REPOSITORY_REGION", values.region, "DE", "Default ISO region of the administrative contexts and of new storages."
)
TIME_ZONE = Variable(
    "REPOSITORY_TIME_ZONE",
    values.time_zone,
    "Europe/Berlin",
    "Default IANA time zone of the administrative contexts and of new storages.",
)

VARIABLES: tuple[Variable[object], ...] = tuple(
    variable for variable in list(globals().values()) if isinstance(variable, Variable)
)


def check_sizes(attribute: int, response: int) -> None:
    """All attributes of an element, which can be ten times as large as one, must fit into half a response: otherwise
    elements could be stored that no response shows."""
    least = 2 * 10 * attribute
    if response < least:
        raise EnvironmentProblem(
            f"{RESPONSE_BYTES.name}={response}: with {ATTRIBUTE_BYTES.name}={attribute}, expected {least} or more,"
            " twice the size of all attributes of an element"
        )


def check_replica(primary: Mapping[str, str], replica: Mapping[str, str]) -> None:
    """The role of the replica must be the one whose rights `serve` checks: row-level security does not apply to others
    such as a superuser."""
    if not replica:
        return
    if not primary:
        raise EnvironmentProblem(f"{DATABASE_REPLICA_URL.name}: only a PostgreSQL of {DATABASE_URL.name} has replicas")
    for name, meaning in (("user", "role"), ("dbname", "database")):
        if replica.get(name) != primary.get(name):
            raise EnvironmentProblem(f"{DATABASE_REPLICA_URL.name}: expected the {meaning} of {DATABASE_URL.name}")


def check_mail(server: object, public_url: str) -> None:
    if server is not None and not public_url:
        raise EnvironmentProblem(f"{EMAIL_URL.name}: set {PUBLIC_URL.name} too; links in mails begin with it")
