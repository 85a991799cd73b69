"""Rotations of an endpoint's secret: how long those before sign beside the new one."""

from typing import Final

from msgspec.structs import replace

from postroad.model.durations import Duration, seconds_of
from postroad.model.errors import BadInput, Conflict
from postroad.model.webhook import HookSecrets
from postroad.model.wording import moment
from postroad.transports.webhook.signing import LIVE_MAX

OVERLAP_S: Final = 86_400.0
OVERLAP_S_MAX: Final = 90 * 86_400.0


def check_overlap(overlap: Duration) -> float:
    """For how many seconds the secret before signs too, or BadInput."""
    overlap_s = seconds_of(overlap)
    if not 0 <= overlap_s <= OVERLAP_S_MAX:
        raise BadInput(f"overlap={overlap!r}: give seconds or a timedelta, at most 90 days")
    return overlap_s


def rotated(secrets: HookSecrets, secret: str, overlap_s: float, now_ms: int) -> HookSecrets:
    """The secrets with a new one. Those before end with the overlap, or when they were to end;
    Conflict if they were too many to sign all."""
    ends_ms = now_ms + int(overlap_s * 1000)
    ending = [(old, ends_ms) for old in secrets.secrets]
    ending += [(old, min(end, ends_ms)) for old, end in secrets.ending if end > now_ms]
    if sum(end > now_ms for _, end in ending) >= LIVE_MAX:
        first = moment(min(end for _, end in ending))
        raise Conflict(
            f"{LIVE_MAX} secrets sign already, and none is ended before its time: rotate after "
            f"{first}, when the oldest ends, or with an overlap of 0, which ends all before at once"
        )
    return replace(secrets, secrets=(secret,), ending=tuple(ending[: LIVE_MAX - 1]))
