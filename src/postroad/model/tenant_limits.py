"""How much one tenant may have."""

from msgspec import Struct

from postroad.model.near_names import NamesChecked


class TenantLimits(Struct, metaclass=NamesChecked, frozen=True):
    """The limits of one tenant. Above them its requests are refused; others are not affected."""

    queues_max: int = 1_000_000
    lanes_max: int = 1_000_000
    messages_max: int = 10_000_000
    """Messages that are stored and not finished."""
    messages_bytes_max: int = 64 << 30
    """Bodies and headers of these."""
    attachments_bytes_max: int = 16 << 30
    mailboxes_max: int = 1_000_000
    campaigns_max: int = 10_000
    imports_max: int = 100
    """Imports into campaigns that were begun and not ended."""
    timetables_max: int = 1_000
    """Timetables that were made at run time."""
