"""A region as a .NET RegionInfo, for StorageInfo.region.

Names and currencies come from CLDR (Babel), ISO codes from pycountry. The geo ids of Windows are in no library, so
`windows_geoids.json` contains them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import TypedDict

import pycountry
from babel import Locale, localedata
from babel.core import get_global
from babel.languages import get_official_languages
from babel.numbers import get_currency_symbol, get_territory_currencies
from django.utils.translation import gettext as _

# .NET calls a region metric unless CLDR gives it the US measurement system. CLDR's measurementData (releases 40 to 48)
# lists these two; the United Kingdom and Myanmar have systems of their own and count as metric. Babel lacks the table.
_US_MEASURES = frozenset({"LR", "US"})

_ENGLISH = Locale("en")


class UnknownRegion(ValueError):
    """Raised for a code that is not an ISO 3166-1 region."""


class RegionInfo(TypedDict):
    """The members of .NET's RegionInfo, in the order and the spelling of the API."""

    name: str
    englishName: str
    displayName: str
    nativeName: str
    twoLetterISORegionName: str
    threeLetterISORegionName: str
    threeLetterWindowsRegionName: str
    isMetric: bool
    geoId: int
    currencyEnglishName: str
    currencyNativeName: str
    currencySymbol: str
    isoCurrencySymbol: str


def region_info(code: str) -> RegionInfo:
    """Return the region of a two-letter code, in upper or lower case, as a new dict."""
    canonical = code.upper() if code.isascii() else code
    if canonical not in _alpha_3_codes():
        raise UnknownRegion(
            _("%(code)r is not a region; use a two-letter ISO 3166-1 code such as 'DE'") % {"code": code}
        )
    return _region(canonical).copy()


@cache
def region_codes() -> tuple[str, ...]:
    """Return all two-letter ISO 3166-1 codes, sorted."""
    return tuple(sorted(_alpha_3_codes()))


@cache
def _region(code: str) -> RegionInfo:
    english = str(_ENGLISH.territories[code])
    native = _native_locale(code)
    # Empty for a region without legal tender, such as Antarctica.
    currency = _tender(code)
    currency_name = str(_ENGLISH.currencies.get(currency, currency))
    alpha_3 = _alpha_3_codes()[code]
    return {
        "name": code,
        "englishName": english,
        "displayName": english,
        "nativeName": str(native.territories[code]),
        "twoLetterISORegionName": code,
        "threeLetterISORegionName": alpha_3,
        # Windows uses the three-letter codes of ISO.
        "threeLetterWindowsRegionName": alpha_3,
        "isMetric": code not in _US_MEASURES,
        "geoId": _geo_ids().get(code, 0),
        "currencyEnglishName": currency_name,
        "currencyNativeName": str(native.currencies.get(currency, currency_name)),
        "currencySymbol": get_currency_symbol(currency, locale=native) if currency else "",
        "isoCurrencySymbol": currency,
    }


@cache
def _alpha_3_codes() -> dict[str, str]:
    return {country.alpha_2: country.alpha_3 for country in pycountry.countries}


@cache
def _geo_ids() -> dict[str, int]:
    """Return the GEOID of Windows by region. A region that is added later would have 0."""
    table = resources.files("storage.localisation").joinpath("windows_geoids.json")
    ids: dict[str, int] = json.loads(table.read_text(encoding="utf-8"))
    return ids


def _native_locale(code: str) -> Locale:
    """Return the locale of the region: the first of its languages in which CLDR names the region."""
    for identifier in _native_identifiers(code):
        if localedata.exists(identifier):
            locale = Locale.parse(identifier)
            if code in locale.territories:
                return locale
    return _ENGLISH


def _native_identifiers(code: str) -> Iterator[str]:
    """Yield locale names from the most to the least specific; regional variants of a language come first."""
    for language in _languages(code):
        name, _, script = language.partition("_")
        if script:
            yield f"{name}_{script}_{code}"
        yield f"{name}_{code}"
        yield language
        yield name


def _languages(code: str) -> tuple[str, ...]:
    """Return the languages of the region, the likeliest first.

    If CLDR's likeliest language is not official (Hausa in Niger), an official language comes first. If CLDR knows no
    official language, the likeliest is still better than English.
    """
    official = get_official_languages(code, de_facto=True)
    likely = str(get_global("likely_subtags").get(f"und_{code}", ""))
    language = likely.removesuffix(f"_{code}")
    spoken = language.partition("_")[0]
    if spoken and (not official or spoken in {name.partition("_")[0] for name in official}):
        return (language, *official)
    return official


def _tender(code: str) -> str:
    """Return the current legal tender; of several, the one whose ISO 4217 code starts with the region."""
    tenders: list[str] = list(get_territory_currencies(code))
    own = [currency for currency in tenders if currency.startswith(code)]
    return next(iter(own or tenders), "")
