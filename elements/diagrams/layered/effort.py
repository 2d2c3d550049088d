"""Work limit of a part of a diagram: its share of the limit for all parts, so that time stays bounded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """`part` of `whole`, counted in arrows."""

    part: int
    whole: int

    def of(self, amount: int) -> int:
        return amount * self.part // self.whole
