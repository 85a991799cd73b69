"""What a handler returns or raises, where that is kept."""

from traceback import format_exception
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.bodies import encode_body
from postroad.model.errors import BadBody
from postroad.model.outcome import Kind, Outcome, rejected

RESULT_BYTES_MAX: Final = 1 << 20
FRAMES_MAX: Final = 50
TRACEBACK_CHARACTERS_MAX: Final = 20_000


class JobFailure(Struct, frozen=True):
    """What a try raised: the path of its class, and the traceback."""

    type: str
    traceback: str
    attempt: int = 0
    """Which try it was, from 1."""


def with_failure(outcome: Outcome, error: Exception, attempt: int) -> Outcome:
    """An outcome that has what was raised with it, where results are kept."""
    kind = type(error)
    failure = JobFailure(f"{kind.__module__}.{kind.__qualname__}", trace_of(error), attempt)
    return replace(outcome, result=msgspec.json.encode(failure))


def trace_of(error: Exception) -> str:
    """Return its traceback, bounded and without halves of characters, which no encoding has."""
    trace = "".join(format_exception(error, limit=-FRAMES_MAX))[-TRACEBACK_CHARACTERS_MAX:]
    return trace.encode(errors="replace").decode()


def with_result(handler: str, answer: object) -> Outcome:
    """The outcome of a call whose answer is kept. One that cannot be stored rejects the message:
    done again, the work would have the same answer."""
    try:
        result = encode_body(answer)
    except BadBody as error:
        why = str(error).removeprefix("the body ").split(": send plain data")[0]
        return rejected(
            f"BadResult: what {handler!r} returned {why}: return plain data, a dataclass, a "
            "msgspec Struct or a pydantic model, or register it without result_ttl"
        )
    if len(result) > RESULT_BYTES_MAX:
        return rejected(
            f"BadResult: what {handler!r} returned has {len(result)} bytes, the limit is "
            f"{RESULT_BYTES_MAX}: store it elsewhere and return a reference to it"
        )
    return Outcome(Kind.delivered, result=result)
