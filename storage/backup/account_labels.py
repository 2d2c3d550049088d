"""Labels of staff accounts in the rows of a backup (D357).

A label has the number of an account, which is another person's number on another installation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from django.db.models import CharField

from storage.access.staff import LABEL
from storage.backup.contents import kept_models
from storage.models import Message, StaffAccount, TenantModel

# Fields with the label of a caller. References to user elements have the same names, but another type.
LABEL_FIELDS = frozenset(
    {"caller_label", "requester_label", "decider_label", "owner_label", "created_by", "changed_by", "uploaded_by"}
)
# Label of an account that does not exist here. It never gives access.
GONE = "account:"
# A whole field, or the value in the JSON of a message.
_LABELS = re.compile(rb'(?:^|(?<="label": "))staff:[0-9]+(?=$|")')


def label_fields(model: type[TenantModel]) -> list[str]:
    return [
        str(each.column)
        for each in model._meta.concrete_fields
        if isinstance(each, CharField) and each.name in LABEL_FIELDS
    ]


def read_accounts() -> dict[str, str]:
    """Return the names of the staff accounts that rows of the scope mention, by label; empty for deleted accounts."""
    places = [(model, name) for model in kept_models() for name in label_fields(model)] + [(Message, "data__label")]
    labels: set[str] = set()
    for model, name in places:
        found = model._default_manager.filter(**{f"{name}__startswith": LABEL}).order_by()
        labels.update(found.values_list(name, flat=True).distinct())
    numbers = {int(each.removeprefix(LABEL)): each for each in labels if each.removeprefix(LABEL).isdecimal()}
    names = dict(StaffAccount.objects.filter(pk__in=numbers).values_list("pk", "username"))
    return {label: names.get(number, "") for number, label in sorted(numbers.items())}


def labels_here(accounts: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return the labels that these accounts have here, by their labels in the backup, without those that stay."""
    here = dict(StaffAccount.objects.filter(username__in=accounts.values()).values_list("username", "pk"))
    found = {}
    for label, name in accounts.items():
        gone = re.sub(r"[^\w.@+-]", "_", name or label.removeprefix(LABEL))
        new = f"{LABEL}{here[name]}" if name in here else f"{GONE}{gone}"
        if new != label:
            found[label.encode()] = new.encode()
    return found


def relabelled(
    model: type[TenantModel], columns: list[str], blocks: Iterable[bytes], labels: Mapping[bytes, bytes]
) -> Iterator[bytes]:
    """Return blocks of COPY text with other labels. They end with complete lines."""
    places = [columns.index(each) for each in (*label_fields(model), *(["data"] if model is Message else []))]
    if not labels or not places:
        yield from blocks
        return
    rest = b""
    for block in blocks:
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        yield b"".join(_relabelled(each, places, labels) + b"\n" for each in lines)
    yield rest


def _relabelled(line: bytes, places: Iterable[int], labels: Mapping[bytes, bytes]) -> bytes:
    fields = line.split(b"\t")
    for place in places:
        # PostgreSQL reports a line with too few fields.
        if place < len(fields):
            fields[place] = _LABELS.sub(lambda found: labels.get(found[0], found[0]), fields[place])
    return b"\t".join(fields)
