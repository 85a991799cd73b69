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


class Parcel(Struct, frozen=True):
    """One call. `key` is the same over all tries: who can tell repetitions by it, may."""

    key: str
    recipient: str
    body: str
    callback: str = ""


class Answer(Struct, frozen=True):
    """What a call gave. `unsent` with `quota`, `unreachable` or `rejected` is about the
    credential: nothing more is sent with it for `after_ms`, or a while. With `later` it is about
    this process: it waits a little, and the others go on."""

    state: RowState
    kind: Kind
    provider_id: str = ""
    code: str = ""
    sub_type: str = ""
    error: str = ""
    after_ms: int = 0

    def __post_init__(self) -> None:
        # The one door for what providers say of a call.
        for name in ("provider_id", "code", "sub_type"):
            if said := getattr(self, name):
                force_setattr(self, name, clean(said, NAME_CHARACTERS_MAX))
        if self.error:
            force_setattr(self, "error", clean(self.error))


class Channel(Protocol):
    """A way to one provider."""

    async def ready(self) -> None:
        """Do what takes time before slots are taken, so that calls start at theirs; a BadInput
        when nothing can be sent."""

    async def send(self, parcel: Parcel) -> Answer:
        """One call. Never raises but on being cancelled."""

    async def check(self) -> str:
        """Whether the credential works: the account's name, or a BadCredential."""

    async def lookup(self, parcel: Parcel) -> str:
        """The provider's id of a message that it has, or nothing; a BadCredential when it cannot
        be asked."""

    async def close(self) -> None:
        """Let go of all connections."""
