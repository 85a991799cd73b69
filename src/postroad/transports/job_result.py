"""What a handler returns, where it is kept."""

from typing import Final

from postroad.model.bodies import encode_body
from postroad.model.errors import BadBody
from postroad.model.outcome import Kind, Outcome, rejected

RESULT_BYTES_MAX: Final = 1 << 20


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
