"""Trust: after a lost lease a lane's messages are suspects until some of them went well."""

from typing import Final

from msgspec import Struct

CLEAN_AFTER: Final = 8
"""So many go one at a time: a whole window would make the neighbours of a poison message look
guilty too."""


class CrashProbation(Struct, gc=False):
    """How many leases of a lane were lost in a row, and what went well since."""

    lost_leases: int
    marking: bool
    """One at a time, each noted before it starts."""
    answered: bool = False
    """The last try that was made here was answered: the server is alive."""
    _clean: int = 0

    def regained(self) -> bool:
        """One more went well; True when that was enough."""
        if not self.marking:
            return False
        self._clean += 1
        if self._clean < CLEAN_AFTER:
            return False
        self.lost_leases = 0
        self.marking = False
        return True
