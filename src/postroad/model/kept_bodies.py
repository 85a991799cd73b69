"""How long the bodies of delivered messages are kept."""

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.errors import BadTime


def kept_ms(span: Duration) -> int:
    """Convert the option keep_bodies to milliseconds."""
    span_s = seconds_of(span)
    if not 0 <= span_s <= CENTURY_S:
        raise BadTime(
            f"keep_bodies={span!r}: give seconds or a timedelta, not a negative one, at most a "
            "century; 0 is as the road says"
        )
    return int(span_s * 1000)
