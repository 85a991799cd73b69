"""A tenant as operators see it: when it was made, its own limits, and what it has."""

from typing import TypedDict

from msgspec import Struct, structs

from postroad.model.errors import BadInput
from postroad.model.tenant_limits import TenantLimits


class UnknownTenant(BadInput):
    """No tenant of that name was made or has anything. List tenants to find it, or create one."""


class TenantInUse(BadInput):
    """Something of the tenant still waits, so it was not removed. Let it finish, or say that it is
    to be deleted with the tenant."""


class TenantLimitOptions(TypedDict, total=False):
    """Limits of one tenant. None: as the settings say for all."""

    queues_max: int | None
    lanes_max: int | None
    messages_max: int | None
    messages_bytes_max: int | None
    attachments_bytes_max: int | None
    mailboxes_max: int | None
    campaigns_max: int | None
    imports_max: int | None
    timetables_max: int | None


class TenantRow(Struct, frozen=True):
    """A tenant as it is stored."""

    name: str
    description: str
    made_at_ms: int | None
    """When it was created; None: its first use made it."""
    own: dict[str, int]
    """The tenant's own limits, by name."""


class TenantCounts(Struct, frozen=True):
    """What a tenant has now. No number is counted further than 10,000, bytes are counted whole."""

    waiting: int
    """Messages that are not finished."""
    letters: int
    """Messages in its mailboxes."""
    live_campaigns: int
    """Campaigns that are scheduled or run."""
    queues: int
    lanes: int
    endpoints: int
    mailboxes: int
    campaigns: int
    imports: int
    timetables: int
    attachments_bytes: int

    @property
    def in_use(self) -> str:
        """What waits, in words; empty if nothing does."""
        waits = {
            "messages that wait": self.waiting,
            "messages in mailboxes": self.letters,
            "campaigns that are scheduled or run": self.live_campaigns,
            "timetables": self.timetables,
        }
        return ", ".join(f"{count:,} {what}" for what, count in waits.items() if count)


class TenantFacts(Struct, frozen=True):
    """A tenant and its limits."""

    name: str
    description: str
    made_at_ms: int | None
    """When it was created; None: its first use made it."""
    limits: TenantLimits
    """Those that hold for it."""
    own: tuple[str, ...]
    """Which of them are its own; the others are the settings'."""


class TenantView(TenantFacts, frozen=True, kw_only=True):
    """A tenant with what it has now."""

    counts: TenantCounts


class TenantPage(Struct, frozen=True):
    """A page of tenants by name. `after` is for the next page; "" is the end."""

    tenants: tuple[TenantFacts, ...]
    after: str = ""


LIMIT_NAMES = TenantLimits.__struct_fields__


def limits_for(own: dict[str, int], settings: TenantLimits) -> TenantLimits:
    """The limits of a tenant: its own, else those of the settings."""
    known = {name: value for name, value in own.items() if name in LIMIT_NAMES}
    return structs.replace(settings, **known) if known else settings
