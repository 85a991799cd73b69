"""The outcome of one try."""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.held_by_handler import Hold
from postroad.model.ruling import Ruling
from postroad.model.try_details import TryDetails

SHORT_MS: Final = 1_000
STOPPED: Final = "cancelled while it ran"


class Kind(StrEnum):
    """The rows of the outcome table."""

    delivered = "delivered"
    failed = "failed"
    rejected = "rejected"
    quota = "quota"
    unreachable = "unreachable"
    unknown = "unknown"
    later = "later"


class ProviderAnswer(Struct, frozen=True, gc=False):
    """What a provider said about a message: its own id of it, its code, and what that means."""

    id: str = ""
    code: str = ""
    sub_type: str = ""

    def __post_init__(self) -> None:
        # The one place where ids and codes of providers are cleaned.
        for name in ("id", "code", "sub_type"):
            if said := getattr(self, name):
                force_setattr(self, name, clean(said, NAME_CHARACTERS_MAX))


NO_ANSWER: Final = ProviderAnswer()


class Outcome(Struct, frozen=True, gc=False):
    """The outcome of one try. `answered`: the server is alive, which closes a circuit."""

    kind: Kind
    error: str = ""
    after_ms: int = 0
    status: int = 0
    disables: bool = False
    """Whether nothing of this queue can be sent until somebody repairs it: with `rejected` its
    recipient is gone, with `quota` its credential is refused."""
    answered: bool = True
    details: TryDetails | None = None
    """What the attempt log is to keep of it."""
    provider: ProviderAnswer = NO_ANSWER
    ruling: Ruling | None = None
    """What an answer rule says about it."""
    result: bytes | None = None
    """What a handler returned, as JSON, where results are kept."""
    temporary: bool = False
    """The server asks to try this message again later: a campaign does, and counts no failure."""
    hold: Hold | None = None
    """With `quota` the queue, with `later` the message and its order key: held until then."""

    @property
    def lacks_setup(self) -> bool:
        """Whether nothing was sent, because something is missing on our side."""
        return self.kind is Kind.quota and not self.answered

    def __post_init__(self) -> None:
        # All texts from transports are cleaned here: errors, and reasons of blocks and circuits.
        if self.error:
            force_setattr(self, "error", clean(self.error))


DELIVERED: Final = Outcome(Kind.delivered)


def failed(error: str, *, status: int = 0, answered: bool = True) -> Outcome:
    """The server answered with a failure: try again on the next level."""
    return Outcome(Kind.failed, error, status=status, answered=answered)


def rejected(error: str, *, status: int = 0, disables: bool = False) -> Outcome:
    """The message will never be accepted: it is dead at once. `disables` stops the queue as
    well."""
    return Outcome(Kind.rejected, error, status=status, disables=disables)


def quota(error: str, *, after_ms: int = 0, status: int = 0) -> Outcome:
    """The recipient takes no more for now: its queue waits, at least `after_ms`."""
    return Outcome(Kind.quota, error, after_ms=after_ms, status=status)


def refused(error: str, provider: ProviderAnswer, *, status: int = 0) -> Outcome:
    """The server refuses the credential, whatever the message: its queue waits for somebody who
    mends it."""
    return Outcome(Kind.quota, error, status=status, disables=True, provider=provider)


def held(error: str) -> Outcome:
    """Make the outcome of a try that was not sent because something is missing on our side: its
    queue waits, and no server is blamed."""
    return Outcome(Kind.quota, error, answered=False)


def unreachable(error: str, *, status: int = 0) -> Outcome:
    """Certainly not sent: the server is away."""
    return Outcome(Kind.unreachable, error, status=status, answered=False)


def unknown(error: str) -> Outcome:
    """No answer after the request may have left: perhaps it was delivered."""
    return Outcome(Kind.unknown, error, answered=False)


def lacking(error: str) -> Outcome:
    """Make the outcome of a try that was not sent because this process lacks something. Only the
    message waits, and no server is blamed."""
    return Outcome(Kind.later, error, after_ms=SHORT_MS, answered=False)


def later(error: str, *, after_ms: int) -> Outcome:
    """The handler asked for another time; no level is spent."""
    return Outcome(Kind.later, error, after_ms=after_ms)


def queue_held(error: str, hold: Hold) -> Outcome:
    """The handler holds its whole queue."""
    return Outcome(Kind.quota, error, hold=hold)


def key_held(error: str, hold: Hold) -> Outcome:
    """The handler holds its message, and with it what comes behind it in its order group."""
    return Outcome(Kind.later, error, hold=hold)
