"""Checks of the fields of a webhook, as the API names them. All problems are reported at once (D361)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext as _

from repository_site.core.outgoing.network_addresses import check_address
from repository_site.core.problems import Invalid, placed
from repository_site.core.wording import listed, printable, similar_hint
from storage.extension import storage_extensions
from storage.models import EventType, Storage, Webhook, WebhookPayload
from storage.models.webhooks import LONGEST_URL
from storage.webhooks.credentials import sealed

MOST_WEBHOOKS = 50
MOST_HEADERS = 20
LONGEST_NAME, LONGEST_VALUE = 100, 2000
URL, EVENTS, FACET, ELEMENT_TYPE, STATE = "url", "events", "facet", "elementType", "state"
PAYLOAD, HEADERS, BASIC, IS_ENABLED = "payload", "headers", "basicAuthentication", "isEnabled"
USERNAME, PASSWORD = "username", "password"
FIELDS = (URL, EVENTS, FACET, ELEMENT_TYPE, STATE, PAYLOAD, HEADERS, BASIC, IS_ENABLED)
FILTERS = {FACET: "facet", ELEMENT_TYPE: "element_type", STATE: "state"}
# RFC 9110. Values are visible ASCII, with spaces inside: anything else could end the header.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
# Set by the service, or about the connection.
RESERVED = frozenset(
    {"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host"}
    | {"keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
    | {"user-agent"}
)
RESERVED_PREFIX = "webhook-"
AUTHORIZATION = "authorization"


def checked_fields(storage: Storage, given: Mapping[str, Any], webhook: Webhook | None = None) -> dict[str, Any]:
    """Return the columns that a request sets; raise Invalid with all problems. A new webhook has no earlier values."""
    check = _Check(storage, webhook)
    for name in given:
        if name not in FIELDS:
            hint = similar_hint(name, FIELDS, len(check.problems))
            check.refuse(printable(name, 40), _("unknown field%(hint)s.") % {"hint": hint})
    if webhook is None and URL not in given:
        check.refuse(URL, _("a webhook needs an address, such as https://example.org/hook."))
    for name, read in check.readers().items():
        if name in given:
            read(given[name])
    check.one_authorization()
    if check.problems:
        raise Invalid(_("The webhook is not valid."), check.problems)
    return check.columns


class _Check:
    def __init__(self, storage: Storage, webhook: Webhook | None) -> None:
        self.storage = storage
        self.webhook = webhook
        self.problems: list[str] = []
        self.columns: dict[str, Any] = {}

    def refuse(self, place: str, text: str) -> None:
        self.problems.append(placed(place, text))

    def readers(self) -> dict[str, Any]:
        return {
            URL: self.url,
            EVENTS: self.events,
            **{name: lambda value, name=name: self.filter(name, value) for name in FILTERS},
            PAYLOAD: self.payload,
            HEADERS: self.headers,
            BASIC: self.basic,
            IS_ENABLED: self.is_enabled,
        }

    def url(self, value: Any) -> None:
        if self._is_stored("url", value):
            return
        if not isinstance(value, str) or len(value) > LONGEST_URL:
            self.refuse(URL, _("expected a text of at most %(limit)d characters.") % {"limit": LONGEST_URL})
        elif problem := check_address(value):
            self.refuse(URL, problem)
        else:
            self.columns["url"] = value

    def events(self, value: Any) -> None:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.refuse(EVENTS, _("expected a list of types of events, such as %(example)s.") % {
                "example": '["element.created"]'
            })  # fmt: skip
            return
        for each in value:
            if each not in EventType.values:
                self._unknown(EVENTS, each, EventType.values)
        self.columns["events"] = [each for each in EventType.values if each in value]

    def filter(self, name: str, value: Any) -> None:
        if self._is_stored(FILTERS[name], value):
            return
        if value is None or value == "":
            self.columns[FILTERS[name]] = ""
        elif not isinstance(value, str):
            self.refuse(name, _("expected a name, or null."))
        else:
            known = {each.casefold(): each for each in filter_names(self.storage).get(name, ())}
            if value.casefold() not in known:
                self._unknown(name, value, known.values())
            self.columns[FILTERS[name]] = known.get(value.casefold(), "")

    def payload(self, value: Any) -> None:
        if value not in WebhookPayload.values:
            self.refuse(PAYLOAD, _("expected %(names)s.") % {"names": listed(WebhookPayload.values, _("or"))})
        self.columns["payload"] = value

    def headers(self, value: Any) -> None:
        if not isinstance(value, dict):
            self.refuse(HEADERS, _("expected values by name, such as %(example)s.") % {"example": '{"X-Team": "docs"}'})
            return
        if len(value) > MOST_HEADERS:
            self.refuse(HEADERS, _("at most %(limit)d headers are possible.") % {"limit": MOST_HEADERS})
            return
        earlier = self.webhook.headers if self.webhook else {}
        if len({name.lower() for name in value}) < len(value):
            self.refuse(HEADERS, _("a name occurs twice; upper and lower case do not matter."))
        for name, text in value.items():
            if problem := _header_problem(name, text, name in earlier):
                self.refuse(f"{HEADERS}.{printable(name, 40)}", problem)
        if not self.problems:
            kept = {name: earlier[name] if text is None else sealed(text) for name, text in value.items()}
            self.columns["headers"] = kept

    def basic(self, value: Any) -> None:
        if value is None:
            self.columns |= {"username": "", "password": ""}
            return
        if not isinstance(value, dict) or not value.keys() <= {USERNAME, PASSWORD}:
            self.refuse(BASIC, _("expected an object with %(names)s, or null.") % {
                "names": listed([USERNAME, PASSWORD], _("and"))
            })  # fmt: skip
            return
        username, password = value.get(USERNAME), value.get(PASSWORD)
        if not isinstance(username, str) or not 0 < len(username) <= LONGEST_NAME or not _is_plain(username, ":"):
            text = _("expected 1 to %(limit)d visible characters without a colon.")
            self.refuse(f"{BASIC}.{USERNAME}", text % {"limit": LONGEST_NAME})
        if password is None and self.webhook and self.webhook.username == username:
            self.columns["username"] = username
        elif not isinstance(password, str) or not 0 < len(password) <= LONGEST_NAME or not _is_plain(password):
            text = _("expected 1 to %(limit)d visible characters.")
            self.refuse(f"{BASIC}.{PASSWORD}", text % {"limit": LONGEST_NAME})
        else:
            self.columns |= {"username": username, "password": sealed(password)}

    def one_authorization(self) -> None:
        """Refuse a header beside basic authentication, also beside that of the stored webhook: both would be sent."""
        username = self.columns.get("username", self.webhook.username if self.webhook else "")
        headers = self.columns.get("headers", self.webhook.headers if self.webhook else {})
        if username and any(name.lower() == AUTHORIZATION for name in headers):
            self.refuse(BASIC, _("the header Authorization is set as well; remove one of them."))

    def is_enabled(self, value: Any) -> None:
        if not isinstance(value, bool):
            self.refuse(IS_ENABLED, _("expected true or false."))
        self.columns["is_enabled"] = value

    def _is_stored(self, column: str, value: Any) -> bool:
        """Return whether a form sends back what it has got. The name of the receiver, the facet, the type or the state
        may be gone since, and the webhook can still be disabled. Each request checks the address again (D365)."""
        return self.webhook is not None and value == getattr(self.webhook, column)

    def _unknown(self, place: str, name: str, known: Collection[str]) -> None:
        hint = similar_hint(name, known, len(self.problems))
        self.refuse(place, _("unknown name %(name)s%(hint)s.") % {"name": repr(printable(name, 40)), "hint": hint})


def filter_names(storage: Storage) -> dict[str, Collection[str]]:
    """Return the facets, element types and states by which events of a storage can be filtered."""
    found: dict[str, Collection[str]] = {}
    for extension in storage_extensions:
        if extension.filter_names:
            found |= extension.filter_names(storage)
    return found


def _header_problem(name: str, value: Any, has_earlier: bool) -> str:
    if len(name) > LONGEST_NAME or not _HEADER_NAME.fullmatch(name):
        return _("expected a name of letters, digits and hyphens.")
    if name.lower() in RESERVED or name.lower().startswith(RESERVED_PREFIX):
        return _("the service sets this header itself; choose another name.")
    if name.lower() == AUTHORIZATION and isinstance(value, str) and value.lower().startswith("basic "):
        return _("use %(name)s instead.") % {"name": BASIC}
    if value is None and has_earlier:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_VALUE or not _HEADER_VALUE.fullmatch(value):
        return _("expected 1 to %(limit)d visible ASCII characters.") % {"limit": LONGEST_VALUE}
    return ""


def _is_plain(text: str, refused: str = "") -> bool:
    return text.isprintable() and not any(each in text for each in refused)
