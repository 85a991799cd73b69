"""What a proof answers."""

from msgspec import Struct


class Reached(Struct, frozen=True):
    """How far it got of what was asked, and how many promises broke on the way."""

    floor: float
    reached: float
    broken: int

    @property
    def holds(self) -> bool:
        """Whether all that was asked was reached, and nothing broke."""
        return self.broken == 0 and self.reached >= self.floor
