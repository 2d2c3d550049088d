"""Parameters and responses of the search, for decorators and the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from elements.api.element_serializers import FoundElementSerializer
from elements.api.query_parameters import PAGES, query_parameter
from elements.search.queries import MAX_LENGTH
from repository_site.core.rest.serializers import BodySerializer

TEXT, CULTURE, FACET, TYPE, STATE = "q", "culture", "facet", "type", "state"


class FoundFileSerializer(BodySerializer):
    """A file whose text has the searched words."""

    id = serializers.UUIDField(help_text="Read the content with `getFile`.")
    name = serializers.CharField()


class ExcerptSerializer(BodySerializer):
    attribute = serializers.CharField(help_text="Name of the attribute.")
    culture = serializers.IntegerField()
    text = serializers.CharField(
        help_text="Part of the text as HTML: found words are between `<mark>` and `</mark>`, the rest is escaped."
    )
    file = FoundFileSerializer(required=False, help_text="The file in the attribute that has the text.")


class SearchHitSerializer(FoundElementSerializer):
    """Reference to an element, with its names and an excerpt. A hit that only refers to an element with the searched
    name, or has the words in its diagram, has no excerpt."""

    excerpt = ExcerptSerializer(required=False)


def _counts(text: str) -> serializers.DictField:
    return serializers.DictField(child=serializers.IntegerField(), help_text=text)


class SearchResultSerializer(BodySerializer):
    count = serializers.IntegerField(help_text="Number of values on this page.")
    values = SearchHitSerializer(many=True)
    facets = _counts("Number of hits by facet, regardless of the filters `facet`, `type` and `state`.")
    types = _counts("Number of hits by type, regardless of the filters.")
    states = _counts("Number of hits by state, regardless of the filters.")
    isComplete = serializers.BooleanField(
        help_text="`false` if the words are so frequent that not all elements were searched; add a word."
    )
    suggestion = serializers.CharField(
        required=False, help_text="A similar text that finds something; only if `q` finds nothing."
    )


class SearchSuggestionsSerializer(BodySerializer):
    count = serializers.IntegerField()
    values = FoundElementSerializer(many=True)


_TEXT = query_parameter(
    TEXT,
    'Words that all have to occur. `"order parts"` is a phrase, `-draft` excludes a word, and the last word may be'
    " unfinished.",
    required=True,
    minLength=1,
    maxLength=MAX_LENGTH,
)
SUGGESTIONS = [_TEXT]
SEARCH = [
    _TEXT,
    query_parameter(
        CULTURE,
        "Data culture in whose language the words are understood. Excerpts in this culture come first. Without it, the"
        " words are understood in the languages of all data cultures.",
        type="integer",
        minimum=1,
    ),
    query_parameter(FACET, "Names of facets, separated by commas, case-insensitive."),
    query_parameter(TYPE, "Keys of types, separated by commas, case-insensitive."),
    query_parameter(STATE, "States, separated by commas, case-insensitive."),
    *PAGES,
]
