"""Django settings of demo, tests and production. Only environment variables (`core/environment`) change them."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf.global_settings import STORAGES as USUAL_STORAGES

from repository_site import __version__
from repository_site.core import environment
from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.rest.description import API_DESCRIPTION, API_TAGS
from repository_site.operations.logs import logging_settings
from repository_site.operations.secret_key import load_or_make_secret_key

try:
    DATA_DIR = environment.DATA_DIR.read().absolute()
    DATABASE_ADDRESS = environment.DATABASE_URL.read()
    REPLICA_ADDRESS = environment.DATABASE_REPLICA_URL.read()
    LISTEN_ADDRESS = environment.DATABASE_LISTEN_URL.read()
    environment.check_replica(DATABASE_ADDRESS, REPLICA_ADDRESS)
    DATABASE_PREPARE = bool(environment.DATABASE_PREPARE.read())
    # The doctor changes nothing, so it does not write a new secret key either.
    SECRET_KEY = environment.SECRET_KEY.read() or load_or_make_secret_key(
        DATA_DIR / "secret-key", keep=sys.argv[1:2] != ["doctor"]
    )
    SECRET_KEY_FALLBACKS = environment.SECRET_KEY_FALLBACKS.read()
    PUBLIC_URL = environment.PUBLIC_URL.read()
    TRUSTED_PROXIES = environment.TRUSTED_PROXIES.read()
    HTTPS = environment.HTTPS.read()
    HSTS_SUBDOMAINS = bool(environment.HSTS_SUBDOMAINS.read())
    ALLOWED_HOSTS = environment.ALLOWED_HOSTS.read()
    POOL_SIZE = environment.POOL_SIZE.read()
    FILE_LIMIT = environment.FILE_LIMIT.read()
    FILES_DIR = DATA_DIR / environment.FILES_DIR.read()
    FILES_BUCKET = environment.FILES_BUCKET.read()
    BODY_LIMIT = environment.BODY_LIMIT.read()
    MAX_ELEMENTS = environment.MAX_ELEMENTS.read()
    MARKUP_NESTING = environment.MARKUP_NESTING.read()
    COMPARISON_EFFORT = environment.COMPARISON_EFFORT.read()
    MAX_VALUES = environment.MAX_VALUES.read()
    MAX_REFERENCES = environment.MAX_REFERENCES.read()
    MAX_ELEMENT_REFERENCES = environment.MAX_ELEMENT_REFERENCES.read()
    MAX_DEPTH = environment.MAX_DEPTH.read()
    MAX_CHILDREN = environment.MAX_CHILDREN.read()
    MAX_SHAPES = environment.MAX_SHAPES.read()
    MAX_PERMALINKS = environment.MAX_PERMALINKS.read()
    ATTRIBUTE_BYTES = environment.ATTRIBUTE_BYTES.read()
    RESPONSE_BYTES = environment.RESPONSE_BYTES.read()
    environment.check_sizes(ATTRIBUTE_BYTES, RESPONSE_BYTES)
    KEPT_RESPONSE_BYTES = environment.KEPT_RESPONSE_BYTES.read()
    STATEMENT_TIMEOUT = environment.STATEMENT_TIMEOUT.read()
    STREAM_TIMEOUT = environment.STREAM_TIMEOUT.read()
    STREAM_RATE = environment.STREAM_RATE.read()
    STORAGE_BUDGET = environment.STORAGE_BUDGET.read()
    CALLER_BUDGET = environment.CALLER_BUDGET.read()
    MAX_FILTER_COST = environment.MAX_FILTER_COST.read()
    MAX_PAGE_SIZE = environment.MAX_PAGE_SIZE.read()
    MAX_STORAGES = environment.MAX_STORAGES.read()
    TOKEN_DAYS = environment.TOKEN_DAYS.read()
    TOKEN_RATE = environment.TOKEN_RATE.read()
    ANONYMOUS_RATE = environment.ANONYMOUS_RATE.read()
    INVITATION_DAYS = environment.INVITATION_DAYS.read()
    SECOND_FACTOR = environment.SECOND_FACTOR.read()
    SIGN_IN_FAILURES = environment.SIGN_IN_FAILURES.read()
    SIGN_IN_FAILURES_PER_ADDRESS = environment.SIGN_IN_FAILURES_PER_ADDRESS.read()
    SIGN_IN_WINDOW = environment.SIGN_IN_WINDOW.read()
    PUBLIC_STORAGE_LIST = bool(environment.PUBLIC_STORAGE_LIST.read())
    METRICS_NETWORKS = environment.METRICS_NETWORKS.read()
    METRICS_TOKEN = environment.METRICS_TOKEN.read()
    METRICS_STORAGES = bool(environment.METRICS_STORAGES.read())
    WEBHOOK_NETWORKS = environment.WEBHOOK_NETWORKS.read()
    SIGN_ON_PROVIDERS = environment.SIGN_ON_PROVIDERS.read()
    TRACES = environment.TRACES.read()
    MAIL_SERVER = environment.EMAIL_URL.read()
    environment.check_mail(MAIL_SERVER, PUBLIC_URL)
    DEFAULT_FROM_EMAIL = environment.DEFAULT_FROM_EMAIL.read() or (
        f"repository@{urlsplit(PUBLIC_URL).hostname or 'localhost'}"
    )
    DEFAULT_REGION = environment.REGION.read()
    DEFAULT_TIME_ZONE = environment.TIME_ZONE.read()
    LOGGING = logging_settings(environment.LOG_LEVEL.read(), environment.LOG_FORMAT.read())
except environment.EnvironmentProblem as problem:
    sys.exit(f"error: {problem}")
except OSError as problem:
    sys.exit(f"error: REPOSITORY_DATA_DIR={str(DATA_DIR)!r} cannot be used: {problem.strerror}")

if HTTPS is None:
    HTTPS = PUBLIC_URL.startswith("https://")
if PUBLIC_URL and (public_host := urlsplit(PUBLIC_URL).hostname) and public_host not in ALLOWED_HOSTS:
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, public_host]

DEBUG = False
PROJECT_DIR = environment.PROJECT_DIR
ROOT_URLCONF = "repository_site.urls"
STORAGE_URLCONF = "repository_site.storage_urls"

INSTALLED_APPS = [
    "repository_site",
    "storage",
    "facets",
    "elements",
    "release",
    # Before Django's admin, so that the templates of unfold and its widgets take precedence.
    "repository_site.theme.ThemeConfig",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "unfold.contrib.inlines",
    # Without autodiscovery: `urls.py` loads the back office, and commands do not.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    # Without their models, which web processes load with the back office (D500).
    "repository_site.sign_on_apps.AccountConfig",
    "repository_site.sign_on_apps.SocialAccountConfig",
    "repository_site.sign_on_apps.FactorConfig",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "repository_site.core.reference_cycles.ReferenceCycleMiddleware",
    "repository_site.operations.metrics.requests.RequestCountMiddleware",
    "repository_site.core.middleware.RequestLogMiddleware",
    "repository_site.core.policies.PolicyMiddleware",
    "storage.api.cross_origin.CrossOriginMiddleware",
    "repository_site.operations.health.HealthMiddleware",
    "repository_site.operations.metrics.page.MetricsPageMiddleware",
    "repository_site.core.middleware.TrustedProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "storage.scim.error_middleware.ScimErrorMiddleware",
    "repository_site.core.middleware.ApiRequestMiddleware",
    "repository_site.core.fairness.admission.FairnessMiddleware",
    "repository_site.core.rest.compression.CompressionMiddleware",
    "storage.tenancy.middleware.StoragePathMiddleware",
    # API requests with a token skip all middleware after OptionalSessions (D610).
    "storage.accounts.session_middleware.OptionalSessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "storage.accounts.visitors.VisitorMiddleware",
    "storage.accounts.sessions.SessionUseMiddleware",
    "storage.tenancy.middleware.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

if TRACES:
    # Inside of the log middleware, so that log lines have the trace id. OpenTelemetry is not imported otherwise (D163).
    _after_log = MIDDLEWARE.index("repository_site.core.middleware.RequestLogMiddleware") + 1
    MIDDLEWARE.insert(_after_log, "repository_site.operations.tracing.TracingMiddleware")

TEMPLATES = [
    {
        "BACKEND": "repository_site.core.page_templates.CycleFreeTemplates",
        "DIRS": [PROJECT_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
FORM_RENDERER = "repository_site.core.page_templates.WidgetRenderer"


DATABASE_ENGINE = "repository_site.core.database"


def _database() -> dict[str, Any]:
    """Return the database of DATABASE_URL, or the embedded PostgreSQL, which starts on first use."""
    if not DATABASE_ADDRESS:
        return {
            "ENGINE": DATABASE_ENGINE,
            "NAME": EmbeddedPostgres.DATABASE,
            "USER": EmbeddedPostgres.ROLE,
            "HOST": str(EMBEDDED_POSTGRES.socket_dir) if EMBEDDED_POSTGRES else "",
            "PORT": str(EmbeddedPostgres.PORT),
            "OPTIONS": {},
        }
    return _database_at(DATABASE_ADDRESS)


def _database_at(address: dict[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = dict(address)
    return {
        "ENGINE": DATABASE_ENGINE,
        "NAME": options.pop("dbname", ""),
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        "OPTIONS": options,
    }


EMBEDDED_POSTGRES = None if DATABASE_ADDRESS else EmbeddedPostgres(DATA_DIR / "postgres")
DATABASES = {"default": _database()}
if REPLICA_ADDRESS:
    # A copy of the other database: it is never migrated, and tests create none.
    DATABASES["replica"] = {**_database_at(REPLICA_ADDRESS), "TEST": {"MIRROR": "default"}}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "storage.StaffAccount"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# allauth computes and checks second factors (D553). One code before and after the current one is right as well.
MFA_ADAPTER = "storage.accounts.factor_adapter.FactorAdapter"
MFA_SUPPORTED_TYPES = ["recovery_codes", "totp", "webauthn"]
MFA_TOTP_TOLERANCE = 1
SOCIALACCOUNT_ADAPTER = "storage.single_sign_on.adapter.ProviderAdapter"
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
MESSAGE_STORAGE = "storage.back_office.flash_messages.StorageMessages"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
FORMAT_MODULE_PATH = "repository_site.formats"
LOCALE_PATHS = [PROJECT_DIR / "repository_site/locale"]
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [PROJECT_DIR / "repository_site/assets"]
WHITENOISE_USE_FINDERS = True

DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_LIMIT
# Contents of uploaded files, in a folder (D450) or a bucket (D455). A received file becomes a content by renaming it.
_FOLDER = {
    "location": FILES_DIR,
    "allow_overwrite": True,
    "file_permissions_mode": 0o640,
    "directory_permissions_mode": 0o750,
}
STORAGES = {
    **USUAL_STORAGES,
    "files": {"BACKEND": "storage.files.bucket.BucketStorage", "OPTIONS": FILES_BUCKET}
    if FILES_BUCKET
    else {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": _FOLDER},
}
# Sessions and their cookies (D149). Scripts that write with a session read the CSRF cookie.
SESSION_COOKIE_AGE = 12 * 3600
# Of the link in a mail (D551).
PASSWORD_RESET_TIMEOUT = 3600
if HTTPS:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    # The API refuses plain http instead of redirecting: a redirect would drop a POST body (D1).
    SECURE_REDIRECT_EXEMPT = [r"(^|/)_api(/|$)", r"^[^/]+/scim/v2(/|$)"]
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HSTS_SUBDOMAINS
    CSRF_TRUSTED_ORIGINS = [
        f"https://{'*' if host.startswith('.') else ''}{host}" for host in ALLOWED_HOSTS if host != "*"
    ]

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["repository_site.core.rest.drf_json.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["repository_site.core.rest.drf_json.StrictJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "repository_site.core.rest.negotiation.JSONNegotiation",
    "DEFAULT_SCHEMA_CLASS": "repository_site.core.rest.schema.OperationSchema",
    "EXCEPTION_HANDLER": "repository_site.core.rest.errors.handle_exception",
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Content repository",
    "DESCRIPTION": API_DESCRIPTION,
    "VERSION": __version__,
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SERVERS": [{"url": "/", "description": "The server that provides this document."}],
    "TAGS": [{"name": name, "description": text} for name, text in API_TAGS.items()],
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SORT_OPERATION_PARAMETERS": False,
    "POSTPROCESSING_HOOKS": ["repository_site.core.rest.schema.close_objects"],
}

# Theme and navigation of the two back offices; `storage/back_office/sites.py` names these settings.
_OFFICE: dict[str, Any] = {
    "SITE_SYMBOL": "account_tree",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "repository_site.dashboard.office.icon"}],
    "SHOW_HISTORY": False,
    "SHOW_BACK_BUTTON": True,
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "primary": {
            "50": "#eef6fb",
            "100": "#d6eaf5",
            "200": "#b0d6ec",
            "300": "#7bbadd",
            "400": "#4398c8",
            "500": "#1f7aae",
            "600": "#0b639a",
            "700": "#0a507d",
            "800": "#0d4468",
            "900": "#103a57",
            "950": "#0a2438",
        }
    },
    "STYLES": ["repository_site.dashboard.office.style", "repository_site.dashboard.office.state_style"],
    "SCRIPTS": [
        "repository_site.dashboard.office.expressions",
        "repository_site.dashboard.office.script",
        "repository_site.dashboard.office.search_box",
    ],
}
UNFOLD_SITE = {
    **_OFFICE,
    "SITE_HEADER": "repository_site.dashboard.office.site_title",
    "SITE_TITLE": "repository_site.dashboard.office.site_title",
    "SITE_URL": None,
    "DASHBOARD_CALLBACK": "repository_site.dashboard.office.site_dashboard",
    "SIDEBAR": {"navigation": "repository_site.dashboard.office.site_navigation"},
    "ACCOUNT": {"navigation": "repository_site.dashboard.office.site_account_links"},
}
UNFOLD_STORAGE = {
    **_OFFICE,
    "SITE_HEADER": "repository_site.dashboard.office.storage_title",
    "SITE_TITLE": "repository_site.dashboard.office.storage_title",
    "SITE_SUBHEADER": "repository_site.dashboard.office.storage_path",
    "SITE_URL": "repository_site.dashboard.office.reader_address",
    "DASHBOARD_CALLBACK": "repository_site.dashboard.office.storage_dashboard",
    "SIDEBAR": {"navigation": "repository_site.dashboard.office.storage_navigation"},
    "ACCOUNT": {"navigation": "repository_site.dashboard.office.account_links"},
}
