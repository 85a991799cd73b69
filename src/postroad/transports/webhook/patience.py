"""How long the setting of a webhook waits for its name to be looked up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from postroad.ports.clock import Clock
from postroad.transports.webhook.resolving import Unanswered

HASTE_S: Final = 0.1
HASTY_FOR_S: Final = 10.0
TENANTS_MAX: Final = 10_000


class VettingPatience:
    """After a name of a tenant got no answer, its next ones are waited for a moment only: where no
    name server answers, 10,000 endpoints made 64 at a time took thirteen minutes. Nothing is called
    for that: each try vets the address again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._hasty_until_s: dict[str, float] = {}

    @asynccontextmanager
    async def of(self, tenant: str) -> AsyncIterator[None]:
        """Bound a look-up for a tenant; raises Unanswered when it takes longer."""
        hasty = self._clock.steady_s() < self._hasty_until_s.get(tenant, 0.0)
        try:
            async with asyncio.timeout(HASTE_S if hasty else None):
                yield
        except TimeoutError:
            raise Unanswered("no name server answers") from None
        except Unanswered:
            self._note(tenant)
            raise

    def _note(self, tenant: str) -> None:
        if len(self._hasty_until_s) >= TENANTS_MAX:
            self._hasty_until_s.clear()
        self._hasty_until_s[tenant] = self._clock.steady_s() + HASTY_FOR_S
