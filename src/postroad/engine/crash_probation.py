"""CrashProbation: after a lost lease a lane's messages are suspects until some went well."""

from typing import Final

from msgspec import Struct

CLEAN_AFTER: Final = 8
"""How many messages are sent one at a time: with a whole window the neighbours of a message that
kills its process would be suspects too."""


class CrashProbation(Struct, gc=False):
    """How many leases of a lane were lost in a row, and how many messages went well since."""

    lost_leases: int
    active: bool
    """Messages go one at a time, each noted before it starts."""
    _clean: int = 0

    def went_well(self) -> bool:
        """One more message of a lane on probation went well; True when that ends it."""
        self._clean += 1
        if self._clean < CLEAN_AFTER:
            return False
        self.lost_leases = 0
        self.active = False
        return True
