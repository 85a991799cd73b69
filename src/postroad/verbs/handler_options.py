"""Options of a handler: what they are, and the policy that they make."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypedDict

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.entities import Policy
from postroad.model.errors import BadInput
from postroad.model.kept_bodies import kept_ms
from postroad.model.ladder import DEFAULT_LADDER, Ladder, check_ladder, with_retries
from postroad.model.recipients import RESERVED
from postroad.transports.call_plan import CallPlan
from postroad.transports.function_place import FunctionPlace, place_of
from postroad.transports.job import is_async

BATCH_MAX = 10_000


class HandlerOptions(TypedDict, total=False):
    """Options of a handler."""

    retries: int
    ladder: Ladder
    timeout: Duration
    concurrency: int
    ordered: bool
    on_exhausted: str
    at_most_once: bool
    keep_bodies: Duration
    result_ttl: Duration
    process: bool
    batch: int
    within: Duration


def handler_policy(name: str, options: HandlerOptions) -> tuple[Policy, int]:
    """Check options, and return the policy and the concurrency that they make."""
    _check(name, options)
    ladder = check_ladder(options.get("ladder", DEFAULT_LADDER))
    if "retries" in options:
        ladder = with_retries(ladder, options["retries"])
    exhausted = options.get("on_exhausted", "hold")
    if exhausted not in ("hold", "skip"):
        raise BadInput(f"on_exhausted={exhausted!r}: 'hold' or 'skip'")
    timeout_s, concurrency = seconds_of(options.get("timeout", 30.0)), options.get("concurrency", 0)
    if not 0 < timeout_s <= CENTURY_S:
        raise BadInput(f"handler {name!r}: timeout must be seconds or a timedelta, above zero")
    if type(concurrency) is not int or concurrency < ("concurrency" in options):
        raise BadInput(f"handler {name!r}: concurrency must be a whole number, at least 1")
    policy = Policy(
        ladder=ladder,
        ordered=options.get("ordered", False),
        skip_exhausted=exhausted == "skip",
        at_most_once=options.get("at_most_once", False),
        timeout_ms=int(timeout_s * 1000),
        keep_bodies_ms=kept_ms(options.get("keep_bodies", 0.0)),
        result_ttl_ms=_ttl_ms(name, options.get("result_ttl", 0.0)),
    )
    return policy, concurrency


def gathering(name: str, options: HandlerOptions) -> tuple[int, float]:
    """How many messages a handler gets at once, and how long they are gathered; 0 is one by one."""
    if "batch" not in options:
        if "within" in options:
            raise BadInput(f"handler {name!r}: within= goes with batch=")
        return 0, 0.0
    most, within_s = options["batch"], seconds_of(options.get("within", 1.0))
    if type(most) is not int or not 1 <= most <= BATCH_MAX:
        raise BadInput(f"handler {name!r}: batch must be a whole number from 1 to {BATCH_MAX}")
    if not 0 <= within_s < seconds_of(options.get("timeout", 30.0)):
        raise BadInput(f"handler {name!r}: within must be seconds, less than its timeout")
    if options.get("process") or options.get("result_ttl"):
        raise BadInput(f"handler {name!r}: batch= goes neither with process= nor with result_ttl=")
    if options.get("ordered"):
        raise BadInput(
            f"handler {name!r}: batch= does not go with ordered=, whose messages go one by one: "
            "leave one of them out"
        )
    return most, within_s


def _ttl_ms(name: str, ttl: Duration) -> int:
    seconds = seconds_of(ttl)
    if not 0 <= seconds <= CENTURY_S:
        raise BadInput(f"handler {name!r}: result_ttl must be seconds or a timedelta, not negative")
    return int(seconds * 1000)


def function_place(
    name: str, function: Callable[..., object], plan: CallPlan, options: HandlerOptions
) -> FunctionPlace | None:
    """Where child processes find a handler with `process=True`; BadInput says why they cannot."""
    if not options.get("process"):
        return None
    if is_async(function):
        raise BadInput(
            f"handler {name!r}: process=True is for plain functions, since a child process has no "
            "loop to share: write `def`, and asyncio.run() in it where it awaits something"
        )
    if plan.wanted:
        raise BadInput(
            f"handler {name!r}: what is provided ({', '.join(plan.wanted)}) stays in the process "
            "of the engine: a handler with process=True makes its own"
        )
    place = place_of(function)
    if place is None:
        raise BadInput(
            f"handler {name!r}: a child process cannot import {function!r}: define it with "
            "`def` at the top level of a module that is a file"
        )
    return place


def _check(name: object, options: HandlerOptions) -> None:
    """Raise BadInput for mistakes that only a type checker would have found."""
    if not isinstance(name, str):
        raise BadInput(f"{name!r} is not a name: write @road.handler('welcome') over the function")
    begin = name.partition(":")[0].partition("@")[0] if ":" in name else ""
    if not name or "://" in name or len(name) > 200 or not name.isprintable() or begin in RESERVED:
        raise BadInput(f"{name!r} cannot be a handler's name: give a short word, not an address")
    for option in options.keys() - HandlerOptions.__annotations__:
        near = get_close_matches(option, HandlerOptions.__annotations__, 1)
        known = near or sorted(HandlerOptions.__annotations__)
        raise BadInput(f"handler {name!r}: {option}= is no option; give {', '.join(known)}")
