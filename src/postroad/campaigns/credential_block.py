"""When a credential is blocked: its provider throttles it, is away, or refuses it."""

from typing import Final

from postroad.model.credential import Credential
from postroad.model.outcome import SHORT_MS, Kind, Outcome
from postroad.ports.campaigns import Credentials
from postroad.ports.clock import Clock

THROTTLE_MS, THROTTLE_MAX_MS = 1_000, 600_000
AWAY_MS, AWAY_MAX_MS = 2_000, 300_000
AWAY_IN_A_ROW: Final = 3


class CredentialBlock:
    """The block of a sender's credential. Other senders read it from the store within a second."""

    def __init__(self, store: Credentials, credential: Credential, clock: Clock) -> None:
        self._store = store
        self._id = credential.id
        self._clock = clock
        self._streak = credential.block_streak
        self._away = 0
        self._short_ms = 0
        """Until then this process lacks a resource of its own; other processes may send."""
        self.until_ms = credential.blocked_until_ms
        self.refused = ""

    @property
    def left_s(self) -> float:
        """Seconds until something may be sent."""
        return max(0, max(self.until_ms, self._short_ms) - self._clock.now_ms()) / 1000

    @property
    def _blocked(self) -> bool:
        return self.until_ms > self._clock.now_ms()

    async def note(self, outcome: Outcome) -> None:
        """Set or lift the block by an outcome."""
        if outcome.disables:
            self.refused = outcome.error or "the provider refuses the credential"
        elif outcome.kind is Kind.quota:
            await self._block(outcome, THROTTLE_MS, THROTTLE_MAX_MS)
        elif outcome.kind is Kind.unreachable:
            self._away += 1
            if self._away >= AWAY_IN_A_ROW:
                await self._block(outcome, AWAY_MS, AWAY_MAX_MS)
        elif outcome.kind is Kind.later:
            self._short_ms = self._clock.now_ms() + SHORT_MS
        elif outcome.kind is not Kind.unknown:
            self._away = 0
            if self._streak and not self._blocked:
                self._streak = 0
                await self._store.block_credential(self._id, 0, "", 0)

    async def _block(self, outcome: Outcome, base_ms: int, most_ms: int) -> None:
        if self._blocked:
            return  # other calls that were under way report the same
        wait_ms = max(outcome.after_ms, min(most_ms, base_ms << min(self._streak, 16)))
        self._streak += 1
        self._away = 0
        self.until_ms = self._clock.now_ms() + wait_ms
        reason = outcome.error or outcome.provider.sub_type or outcome.kind
        await self._store.block_credential(self._id, self.until_ms, reason[:200], self._streak)
