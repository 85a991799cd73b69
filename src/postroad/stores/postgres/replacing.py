"""Drafts that replace earlier messages, as the arguments of the function replace_keys."""

from collections.abc import Sequence
from typing import Final

from msgspec import field
from msgspec.structs import replace

from postroad.model.entities import Accepted, Draft
from postroad.model.replacing import REPLACED, due_ms
from postroad.stores.postgres.base import StoreAnswer, decoder


class Replacing(StoreAnswer, frozen=True):
    """What became of the earlier message, for each one that is stored, and when the first was
    sent."""

    said: list[tuple[int, str, int]] = field(default_factory=list)


REPLACING: Final = decoder(Replacing)


class ReplacingBatch:
    """Drafts of which only the last one with each key is stored."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._drafts = drafts
        self._own = [draft for draft in drafts if draft.replace]
        self._last = {(draft.queue, draft.replace): draft.id for draft in self._own}
        self._earlier: dict[int, str] = {}

    def _is_last(self, draft: Draft) -> bool:
        return self._last[draft.queue, draft.replace] == draft.id

    def columns(self) -> tuple[object, ...]:
        """The arguments of replace_keys."""
        own = self._own
        return (
            [draft.queue for draft in own],
            [draft.lane for draft in self._drafts],
            [draft.replace for draft in own],
            [draft.id for draft in own],
            [draft.accepted_at_ms for draft in own],
            [draft.due_ms for draft in own],
            [self._is_last(draft) for draft in own],
        )

    def stored(self, said: Sequence[tuple[int, str, int]]) -> list[Draft]:
        """Those that are stored, with their times."""
        self._earlier = {number: earlier for number, earlier, _ in said}
        first_ms = {number: at_ms for number, _, at_ms in said}
        return [
            replace(draft, due_ms=due_ms(draft, first_ms[draft.id])) if draft.replace else draft
            for draft in self._drafts
            if not draft.replace or self._is_last(draft)
        ]

    def answers(self, stored: Sequence[Draft], answers: Sequence[Accepted]) -> list[Accepted]:
        """The answer to each draft: the first with a key names the stored one before it, the others
        replaced one of their own batch."""
        of = {draft.id: answer for draft, answer in zip(stored, answers, strict=True)}
        seen: set[tuple[int, str]] = set()
        told: list[Accepted] = []
        for draft in self._drafts:
            key = (draft.queue, draft.replace)
            earlier = ""
            if draft.replace:
                earlier = REPLACED if key in seen else self._earlier.get(self._last[key], "")
                seen.add(key)
            told.append(replace(of.get(draft.id, Accepted(draft.id)), earlier=earlier))
        return told
