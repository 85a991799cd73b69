"""The details of a try, for the log of tries."""

from msgspec import Struct


class TryDetails(Struct, frozen=True):
    """What was seen of one try, beside its outcome."""

    address: str = ""
    """The address that was called; "" when none was."""
    fault: str = ""
    """The class of what went wrong on the way; "" when an answer came."""
    headers: bytes = b""
    """The request's headers as JSON, secrets out."""
    answer: bytes = b""
    """The beginning of the answer."""
    answered_ms: int = -1
    """The time from the start to the answer's status; -1 when there was none."""
    connect_ms: int = -1
    """The part of it in which a connection was made, with its TLS handshake; 0 when one was there,
    -1 when that is not known."""
