"""Channels: how one campaign message reaches one recipient, through one credential."""

from typing import Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from postroad.model.campaign import RowState
from postroad.model.errors import BadInput
from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.outcome import Kind


class BadCredential(BadInput):
    """The credential is expired, refused by its provider, or not usable as it is."""


class ChannelMessage(Struct, frozen=True):
    """What one call sends. `key` is the same over all tries, so that a receiver may recognise a
    repeated call."""

    key: str
    recipient: str
    body: str
    callback: str = ""


class ChannelAnswer(Struct, frozen=True):
    """The result of a call. `unsent` with `quota`, `unreachable` or `rejected` is about the
    credential: it is blocked for `after_ms`, or a default. With `later` it is about this process,
    which waits a little; other processes go on."""

    state: RowState
    kind: Kind
    provider_id: str = ""
    code: str = ""
    sub_type: str = ""
    error: str = ""
    after_ms: int = 0

    def __post_init__(self) -> None:
        # The one place where texts of providers about calls are cleaned.
        for name in ("provider_id", "code", "sub_type"):
            if said := getattr(self, name):
                force_setattr(self, name, clean(said, NAME_CHARACTERS_MAX))
        if self.error:
            force_setattr(self, "error", clean(self.error))


class Channel(Protocol):
    """A connection to one provider with one credential."""

    async def ready(self) -> None:
        """Prepare what takes time before slots are reserved, so that calls start on time. Raises
        BadInput when nothing can be sent."""

    async def send(self, parcel: ChannelMessage) -> ChannelAnswer:
        """Make one call. Raises nothing but CancelledError."""

    async def check(self) -> str:
        """Check the credential: answers the account's name, or raises BadCredential."""

    async def lookup(self, parcel: ChannelMessage) -> str:
        """Ask for the provider's id of a message; empty when it has none. Raises BadCredential when
        it cannot be asked."""

    async def close(self) -> None:
        """Close all connections."""
