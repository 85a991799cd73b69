"""Answer rules in the store, and what applies them."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.answer_rules import AnswerRule
from postroad.model.entities import LaneKey, Message
from postroad.model.named_limits import NewLimit
from postroad.model.outcome import Outcome
from postroad.model.suppression import Suppression
from postroad.ports.clock import Clock


class RuleStore(Protocol):
    """Keeps answer rules, and how often they were met."""

    async def put_rule(self, rule: AnswerRule, now_ms: int) -> None:
        """Store a rule of its tenant; it replaces one of the same name."""

    async def drop_rule(self, tenant: str, name: str) -> bool:
        """Delete a rule; False when there is none."""

    async def rules_of(self, tenant: str) -> list[AnswerRule]:
        """List the rules of a tenant (or of `*`) by name."""

    async def rules_for(self, tenant: str) -> list[AnswerRule]:
        """List the rules that hold for a tenant: its own by name, then those of `*`."""

    async def rules_version(self) -> tuple[int, int]:
        """Return how many rules there are, and a number that grows with each change."""

    async def rule_hits(self, rule: str, lane: int, now_ms: int, within_ms: int, most: int) -> int:
        """Count an answer that a rule is met by; returns how many there were on this lane within
        that time, up to `most`."""


class RuledStore(RuleStore, Protocol):
    """What carrying out a rule needs of a store."""

    @property
    def clock(self) -> Clock:
        """The store's clock."""

    async def put_limit(self, new: NewLimit) -> None:
        """Set a named limit."""

    async def suppress(self, entries: Sequence[Suppression]) -> int:
        """Add entries to suppression lists."""


class AnswerRules(Protocol):
    """A process's part."""

    async def apply(self, key: LaneKey, lane: int, message: Message, outcome: Outcome) -> Outcome:
        """Return what the first rule that applies makes of an answer, or the answer as it is."""
