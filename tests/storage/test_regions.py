"""Regions as .NET's RegionInfo: every region renders, six of them in full."""

from __future__ import annotations

import re
from typing import get_type_hints

import pytest

from storage.localisation.regions import RegionInfo, UnknownRegion, region_codes, region_info

FIELDS = list(get_type_hints(RegionInfo))

# englishName, nativeName, alpha-3, isMetric, geoId, and the currency: English, native, symbol, ISO 4217
WHOLE_REGIONS = {
    "DE": ("Germany", "Deutschland", "DEU", True, 94, "Euro", "Euro", "€", "EUR"),
    "US": ("United States", "United States", "USA", False, 244, "US Dollar", "US Dollar", "$", "USD"),
    "BR": ("Brazil", "Brasil", "BRA", True, 32, "Brazilian Real", "Real brasileiro", "R$", "BRL"),
    "IN": ("India", "भारत", "IND", True, 113, "Indian Rupee", "भारतीय रुपया", "₹", "INR"),
    "AU": ("Australia", "Australia", "AUS", True, 12, "Australian Dollar", "Australian Dollar", "$", "AUD"),
    "CH": ("Switzerland", "Schweiz", "CHE", True, 223, "Swiss Franc", "Schweizer Franken", "CHF", "CHF"),
}


@pytest.mark.parametrize("code", WHOLE_REGIONS)
def test_a_whole_region(code: str) -> None:
    english, native, alpha_3, metric, geo_id, currency, native_currency, symbol, iso = WHOLE_REGIONS[code]
    assert region_info(code) == {
        "name": code,
        "englishName": english,
        "displayName": english,
        "nativeName": native,
        "twoLetterISORegionName": code,
        "threeLetterISORegionName": alpha_3,
        "threeLetterWindowsRegionName": alpha_3,
        "isMetric": metric,
        "geoId": geo_id,
        "currencyEnglishName": currency,
        "currencyNativeName": native_currency,
        "currencySymbol": symbol,
        "isoCurrencySymbol": iso,
    }


@pytest.mark.long
def test_every_region_renders_with_the_right_types() -> None:
    types = get_type_hints(RegionInfo)
    for code in region_codes():
        region = region_info(code)
        assert list(region) == FIELDS, code
        assert {field: type(value) for field, value in region.items()} == types, code
        assert region["name"] == region["twoLetterISORegionName"] == code
        assert re.fullmatch("[A-Z]{3}", region["threeLetterISORegionName"]), code
        assert region["englishName"], code
        assert region["nativeName"], code


def test_the_codes_are_those_of_iso_3166_sorted() -> None:
    codes = region_codes()
    assert len(codes) >= 249
    assert list(codes) == sorted(set(codes))
    assert all(re.fullmatch("[A-Z]{2}", code) for code in codes)


def test_every_region_has_a_geo_id_of_its_own() -> None:
    ids = [region_info(code)["geoId"] for code in region_codes()]
    assert all(geo_id > 0 for geo_id in ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("code", "geo_id"), [("GB", 242), ("JP", 122), ("SJ", 220), ("BQ", 161832258)])
def test_geo_ids_of_windows(code: str, geo_id: int) -> None:
    assert region_info(code)["geoId"] == geo_id


def test_only_regions_of_us_measures_are_not_metric() -> None:
    assert [code for code in region_codes() if not region_info(code)["isMetric"]] == ["LR", "US"]


@pytest.mark.parametrize(
    ("code", "native"),
    [
        ("CN", "中国"),
        ("TW", "台灣"),
        ("RS", "Србија"),
        ("NE", "Niger"),  # the likeliest language, Hausa, is not official
        ("WS", "Samoa"),  # CLDR has no Samoan, but English, official as well
        ("AQ", "Antarctica"),  # no language at all
    ],
)
def test_the_native_name(code: str, native: str) -> None:
    assert region_info(code)["nativeName"] == native


@pytest.mark.parametrize(
    ("code", "currency"), [("PA", "PAB"), ("LS", "LSL"), ("BT", "BTN"), ("PS", "ILS"), ("EC", "USD")]
)
def test_the_own_currency_of_a_region_wins(code: str, currency: str) -> None:
    assert region_info(code)["isoCurrencySymbol"] == currency


def test_currency_fields_are_all_set_or_all_empty() -> None:
    for code in region_codes():
        region = region_info(code)
        known = bool(region["isoCurrencySymbol"])
        assert known == (code != "AQ"), code
        assert bool(region["currencyEnglishName"]) == known, code
        assert bool(region["currencyNativeName"]) == known, code
        assert bool(region["currencySymbol"]) == known, code


def test_lower_case_is_accepted() -> None:
    assert region_info("de") == region_info("DE")
    assert region_info("de")["name"] == "DE"


@pytest.mark.parametrize("code", ["", "D", "XX", "ZZ", "DEU", "EU", " DE", "Germany", "\ufb01", "\u0131s"])
def test_an_unknown_region_is_refused_with_an_example(code: str) -> None:
    with pytest.raises(UnknownRegion) as problem:
        region_info(code)
    assert str(problem.value) == f"{code!r} is not a region; use a two-letter ISO 3166-1 code such as 'DE'"


def test_results_are_copies() -> None:
    region_info("DE")["nativeName"] = "changed"
    assert region_info("DE")["nativeName"] == "Deutschland"
