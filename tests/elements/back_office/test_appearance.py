"""The look of the reader pages, which administrators choose: title, introduction, colour, logo and menu."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from elements.appearance import AppearanceInput, change_appearance, read_appearance, style_digest, style_of
from elements.contrast import contrast
from elements.models import Appearance
from elements.values.colors import COLOR, DARK, LIGHT, READABLE, accent_on, text_on
from elements.values.pictures import JPEG, PNG, WEBP, PictureFile, read_picture_file
from facets.configuration import configuration_of
from repository_site.core.policies import NAME
from repository_site.core.problems import Invalid
from storage.models import AnonymousAccess, Event, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, main_text
from tests.elements.picture_files import png
from tests.elements.reader_page import found_in, read_page
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
ROOT = "/acme/handbook"
PAGE = "appearance/"


def file(content: bytes, name: str = "logo.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, "image/png")


@pytest.fixture
def office(handbook: Storage) -> Office:
    return Office(handbook, Role.ADMINISTRATOR)


def save(office: Office, **given: Any) -> Any:
    """Send the form as the page shows it, with other values; None leaves a field out."""
    data = {**office.form(PAGE), **{name.replace("_", "-"): value for name, value in given.items()}}
    return office.post(PAGE, {name: value for name, value in data.items() if value is not None})


def stored(storage: Storage) -> Appearance:
    with tenant_scope(storage):
        return read_appearance()


def reader(path: str = "/1033/") -> Any:
    return read_page(Client().get(f"{ROOT}{path}").content.decode())


def test_the_chosen_look_is_on_every_page(office: Office, handbook: Storage) -> None:
    response = save(
        office, title_1033="Our handbook", title_1031="Unser Handbuch", intro_1033="Welcome.\nRead on.", color="#FFD800",
        logo=file(png()),
    )  # fmt: skip
    assert response.status_code == 302, main_text(response)
    page = reader()
    assert page.title == "Our handbook"
    assert page.lines[:2] == ["Our handbook", "Welcome. / Read on."]
    other = reader("/1031/processes/")
    assert other.title == "Prozesse · Unser Handbuch"
    for each in (page, other):
        sheets = [link["href"] for link in each.attributes("link") if link["rel"] == "stylesheet"]
        assert sheets[-1] == f"{ROOT}/appearance/{style_digest('#ffd800')}.css"
        [logo] = [image for image in each.attributes("img") if image.get("class") == "logo"]
        assert logo == {"class": "logo", "src": f"{ROOT}/appearance/{stored(handbook).logo_digest}", "alt": ""}
    with tenant_scope(handbook):
        event = Event.objects.order_by("-time").first()
    assert event is not None
    assert (event.type, event.data) == ("configuration.changed", {"changes": ["appearance"]})


def test_files_are_kept_by_browsers_and_run_nothing(office: Office, handbook: Storage) -> None:
    save(office, color="#0b5c8f", logo=file(png(), "logo.html"))
    found = stored(handbook)
    logo = Client().get(f"{ROOT}/appearance/{found.logo_digest}")
    assert (logo.content, logo["Content-Type"]) == (png(), "image/png")
    style = Client().get(f"{ROOT}/appearance/{style_digest('#0b5c8f')}.css")
    assert (style.content.decode(), style["Content-Type"]) == (style_of("#0b5c8f"), "text/css; charset=utf-8")
    for each in (logo, style):
        assert each["Cache-Control"] == "private, max-age=31536000, immutable"
        assert each["X-Content-Type-Options"] == "nosniff"
        assert each[NAME] == "default-src 'none'; sandbox"
    for path in ("0123456789abcdef", "0123456789abcdef.css"):
        assert Client().get(f"{ROOT}/appearance/{path}").status_code == 404
    Storage.objects.filter(pk=handbook.pk).update(anonymous_access=AnonymousAccess.NONE)
    assert Client().get(f"{ROOT}/appearance/{found.logo_digest}").status_code == 302


def test_another_storage_has_its_own_look(office: Office, handbook: Storage) -> None:
    save(office, title_1033="Our handbook", logo=file(png()))
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    assert stored(rival).titles == {}
    address = f"/rival/handbook/appearance/{stored(handbook).logo_digest}"
    assert Office(rival, Role.ADMINISTRATOR).get(address).status_code == 404


def test_the_menu_has_the_chosen_facets_in_their_order(office: Office) -> None:
    def menu(client: Client) -> list[str]:
        page = read_page(client.get(f"{ROOT}/1033/search?q=x").content.decode())
        start = f"{ROOT}/1033/"
        tails = ((text, address.removeprefix(start)) for text, address in page.links if address.startswith(start))
        return [text for text, tail in tails if tail.rstrip("/").isalpha()]

    assert menu(Client()) == ["Processes", "IT", "Users", "Cultures"]
    # Tokens never appear, not even for administrators.
    assert menu(office.client) == ["Processes", "IT", "Users", "Cultures"]
    save(office, place_users="0", shown_cultures=None)
    assert menu(Client()) == ["Users", "Processes", "IT"]
    assert office.form(PAGE)["place-users"] == "1"
    assert Client().get(f"{ROOT}/1033/cultures/").status_code == 200


def test_the_logo_stays_until_it_is_removed(office: Office, handbook: Storage) -> None:
    save(office, logo=file(png()))
    save(office, color="#123456")
    assert stored(handbook).logo_type == "image/png"
    save(office, remove_logo="yes")
    found = stored(handbook)
    assert (found.logo_type, found.logo_digest, found.color) == ("", "", "#123456")
    with tenant_scope(handbook):
        assert list(Appearance.objects.values_list("logo")) == [(None,)]


@pytest.mark.parametrize(
    ("given", "text"),
    first_quick(
        [
            ({"color": "red"}, "Colour: expected a colour with six digits, such as #0b5c8f."),
            ({"color": "#12345"}, "Colour: expected a colour with six digits, such as #0b5c8f."),
            ({"color": "#12345;"}, "Colour: expected a colour with six digits, such as #0b5c8f."),
            ({"title_1033": "x" * 121}, "Title (English): expected at most 120 characters."),
            ({"intro_1031": "x" * 2001}, "Introduction (German): expected at most 2000 characters."),
            ({"logo": file(b"<svg xmlns='http://www.w3.org/2000/svg'/>")}, "Logo: expected a PNG, JPEG or WebP file."),
            ({"logo": file(b"<html><script>alert(1)</script>")}, "Logo: expected a PNG, JPEG or WebP file."),
            ({"logo": file(png() + b"x" * 204_800)}, "Logo: expected a file of at most 200 KB."),
            ({"logo": file(png(2001, 1))}, "Logo: expected a picture of at most 2000 × 2000 pixels."),
        ],
        3,
    ),
)
def test_wrong_values_are_named_and_what_was_typed_stays(
    office: Office, handbook: Storage, given: dict[str, Any], text: str
) -> None:
    response = save(office, **{"title_1031": "Bleibt", **given})
    assert response.status_code == 422
    assert text in main_text(response)
    assert found_in(response.content.decode(), 'value="Bleibt"') != []
    assert stored(handbook).titles == {}


def test_the_domain_checks_cultures_and_facets(handbook: Storage) -> None:
    with tenant_scope(handbook), pytest.raises(Invalid) as raised:
        given = AppearanceInput({"1036": "x"}, menu=["it", "it"], hidden=["nothing"])
        change_appearance(handbook, configuration_of(handbook), given)
    assert raised.value.details == (
        "title: the storage has no culture 1036.",
        "menu: expected each facet of the storage once.",
    )


def test_two_administrators_do_not_overwrite_each_other(office: Office, handbook: Storage) -> None:
    data = office.form(PAGE)
    save(office, title_1033="First")
    response = office.post(PAGE, {**data, "title-1033": "Second"})
    assert response.status_code == 409
    assert "Somebody else has changed the appearance meanwhile." in main_text(response)
    assert stored(handbook).titles == {"1033": "First"}


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMINISTRATOR])
def test_only_administrators_choose_the_look(handbook: Storage, role: Role) -> None:
    office = Office(handbook, role)
    assert office.get(PAGE).status_code == 403
    assert office.post(PAGE, {"title-1033": "x"}).status_code == 403
    assert stored(handbook).titles == {}


@pytest.mark.parametrize(
    "color", ["#000000", "#ffffff", "#ffd800", "#0b5c8f", "#ff0000", "#777777", "#00ff00", "#7a1f5c"]
)
def test_every_colour_gives_readable_pages(color: str) -> None:
    assert contrast(color, text_on(color)) >= READABLE
    for grounds in (LIGHT, DARK):
        accent = accent_on(color, grounds)
        assert all(contrast(accent.color, each) >= READABLE for each in (*grounds, accent.ground, accent.text))
        assert all(COLOR.fullmatch(each) for each in (accent.color, accent.text, accent.ground))


def test_contrasts_are_those_of_the_guideline() -> None:
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (png(640, 480), PictureFile(PNG, 640, 480)),
        (
            b"\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc2\x00\x0b\x08\x00\x10\x00\x20\x01\x01\x11\x00",
            PictureFile(JPEG, 32, 16),
        ),
        (
            b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x1f\x00\x00\x0f\x00\x00",
            PictureFile(WEBP, 32, 16),
        ),
        (
            b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x20\x00\x10\x00",
            PictureFile(WEBP, 32, 16),
        ),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"\xff\xd8\xff\xe0", None),
        (b"GIF89a\x01\x00\x01\x00", None),
        (b"", None),
    ],
)
def test_pictures_are_known_by_their_content(content: bytes, found: PictureFile | None) -> None:
    assert read_picture_file(content) == found
