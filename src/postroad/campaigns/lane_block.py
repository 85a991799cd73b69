"""When nothing may be sent on a lane: its server throttles or is away, an answer rule or somebody
holds it, or the credential is refused."""

from typing import Final

from msgspec import Struct

from postroad.model.credential import Credential
from postroad.model.outcome import SHORT_MS, Kind, Outcome
from postroad.model.ruling import RuleAction
from postroad.ports.campaigns import Credentials
from postroad.ports.clock import Clock
from postroad.ports.control import Control

THROTTLE_MS, THROTTLE_MAX_MS = 1_000, 600_000
AWAY_MS, AWAY_MAX_MS = 2_000, 300_000
AWAY_IN_A_ROW: Final = 3
AWAY_LONG: Final = 4
"""After so many blocks in a row, half a minute, a server is not just restarting."""
REASON_MAX: Final = 200
ASKED_AGAIN_MS: Final = 2_000


class CredentialBlock(Struct, frozen=True):
    """Where a block is stored that is a whole credential's: other senders read it there."""

    store: Credentials
    credential: Credential


class LaneBlock:
    """The block of one lane of a sender. It is stored on the lane, as a hold that single messages
    obey, too; or as the credential's, where one server takes all that is sent with it."""

    def __init__(
        self, road: Control, lane: int, clock: Clock, shared: CredentialBlock | None = None
    ) -> None:
        self._road = road
        self._lane = lane
        self._clock = clock
        self._shared = shared
        self._streak = shared.credential.block_streak if shared else 0
        self._away = 0
        self._away_blocks = 0
        self._short_ms = 0
        """Until then this process lacks a resource of its own; other processes may send."""
        self.until_ms = shared.credential.blocked_until_ms if shared else 0
        self.circuit_open = False
        """Whether the lane's circuit is open: then one call at a time finds out whether the server
        is there."""
        self.refused = ""

    @property
    def left_s(self) -> float:
        """Seconds until something may be sent."""
        return max(0, max(self.until_ms, self._short_ms) - self._clock.now_ms()) / 1000

    @property
    def away_long(self) -> bool:
        """Whether a site has been away for so long that its recipients are to hear of it."""
        return self._shared is None and self._away_blocks >= AWAY_LONG

    @property
    def _blocked(self) -> bool:
        return self.until_ms > self._clock.now_ms()

    def hear(self, until_ms: int, *, circuit_open: bool) -> None:
        """Obey what the store says about the lane."""
        self.until_ms = max(self.until_ms, until_ms)
        self.circuit_open = circuit_open

    async def note(self, outcome: Outcome) -> None:
        """Set or lift the block by an outcome."""
        ruling = outcome.ruling
        if outcome.disables:
            self.refused = outcome.error or "the provider refuses the credential"
        elif ruling is not None and ruling.do is RuleAction.hold_lane:
            await self._hold(self._clock.now_ms() + ruling.lasts_ms, outcome.error)
        elif outcome.kind is Kind.quota:
            await self._block(outcome, THROTTLE_MS, THROTTLE_MAX_MS)
        elif outcome.kind is Kind.unreachable:
            await self._no_answer(outcome)
        elif outcome.kind is Kind.later:
            self._short_ms = self._clock.now_ms() + SHORT_MS
        elif outcome.answered and outcome.kind is not Kind.unknown:
            self._away = 0
            if (self._streak or self.circuit_open) and not self._blocked:
                await self._lift()

    async def _no_answer(self, outcome: Outcome) -> None:
        self._away += 1
        if self._away >= AWAY_IN_A_ROW or (self.circuit_open and not self._blocked):
            self._away_blocks += not self._blocked
            await self._block(outcome, AWAY_MS, AWAY_MAX_MS)

    async def _block(self, outcome: Outcome, base_ms: int, most_ms: int) -> None:
        if self._blocked:
            return  # other calls that were under way report the same
        wait_ms = max(outcome.after_ms, min(most_ms, base_ms << min(self._streak, 16)))
        self._streak += 1
        self._away = 0
        until_ms = self._clock.now_ms() + wait_ms
        reason = outcome.error or outcome.provider.sub_type or outcome.kind
        if self._shared is None:
            await self._hold(until_ms, reason)
            return
        self.until_ms = until_ms
        await self._write(until_ms, reason[:REASON_MAX], self._streak)

    async def _hold(self, until_ms: int, reason: str) -> None:
        """Hold the lane. Here it counts for a moment only: somebody may end it, and the store is
        asked again before anything is sent."""
        soon_ms = min(until_ms, self._clock.now_ms() + ASKED_AGAIN_MS)
        self.circuit_open, self.until_ms = True, max(self.until_ms, soon_ms)
        await self._road.hold_lane(self._lane, until_ms, reason[:REASON_MAX])

    async def _lift(self) -> None:
        streak, self._streak, self._away_blocks = self._streak, 0, 0
        if self.circuit_open:
            self.circuit_open = False
            await self._road.hold_lane(self._lane, 0, "")
        if streak and self._shared is not None:
            await self._write(0, "", 0)

    async def _write(self, until_ms: int, reason: str, streak: int) -> None:
        if self._shared is not None:
            number = self._shared.credential.id
            await self._shared.store.block_credential(number, until_ms, reason, streak)
