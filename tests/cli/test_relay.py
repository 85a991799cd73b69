"""What libraries log in a server is a line of its log, and not a line for each stranger."""

import asyncio
import io
import logging

from postroad.observe.log import make_log
from postroad.observe.relay import EVERY_S, KINDS_MAX, relayed
from postroad.ports.clock import SystemClock


class HandClock(SystemClock):
    """One that goes on when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.at_s = 0.0
        self.steady_s = lambda: self.at_s


def test_a_complaint_is_one_line_and_comes_once_a_minute_with_its_count() -> None:
    stream, clock = io.StringIO(), HandClock()
    theirs = logging.getLogger("some.library")
    with relayed(make_log("info", stream), clock):
        for number in range(300):
            theirs.warning("bad request\nfrom %s", f"{number}\x1b[2J")
        theirs.info("nobody asked")
        theirs.error("odd")
        clock.at_s += EVERY_S
        theirs.warning("bad request\nfrom %s", "x")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert 'event="bad request" library=some.library says="from 0\\u001b[2J"' in lines[0]
    assert "level=error event=odd" in lines[1]
    assert "again=299" in lines[2]


def test_what_it_remembers_is_bounded() -> None:
    stream = io.StringIO()
    with relayed(make_log("error", stream)):
        for number in range(3 * KINDS_MAX):
            logging.getLogger("x").warning("kind %d", number)
        (relay,) = [each for each in logging.getLogger().handlers if type(each).__name__ == "Relay"]
        assert len(vars(relay)["_kinds"]) <= KINDS_MAX


def test_complaints_with_a_strangers_words_in_them_do_not_fill_the_log() -> None:
    stream, clock = io.StringIO(), HandClock()
    theirs = logging.getLogger("some.library")
    with relayed(make_log("info", stream), clock):
        for number in range(3 * KINDS_MAX):
            theirs.warning("no such host: %d", number)
        assert len(stream.getvalue().splitlines()) == KINDS_MAX
        clock.at_s += EVERY_S
        theirs.warning("heard again")
    assert "heard again" in stream.getvalue().splitlines()[-1]


def test_a_library_that_logs_wrongly_does_not_break_for_it() -> None:
    class Odd(Exception):
        def __repr__(self) -> str:
            raise ValueError("no words")

        __str__ = __repr__

    stream = io.StringIO()
    with relayed(make_log("info", stream)):
        (relay,) = [each for each in logging.getLogger().handlers if type(each).__name__ == "Relay"]
        relay.handle(logging.LogRecord("x", logging.WARNING, "", 1, "bad %s", (3, 4), None))
        odd_info = (Odd, Odd(), None)
        relay.handle(logging.LogRecord("x", logging.ERROR, "", 1, "odd", (), odd_info))
    wrong, odd = stream.getvalue().splitlines()
    assert "bad %s (its values are missing" in wrong
    assert "Odd: (its text cannot be had: ValueError)" in odd


def test_a_task_whose_error_nobody_took_is_one_line_without_a_trace() -> None:
    stream = io.StringIO()

    async def main() -> None:
        for _ in range(20):
            future = asyncio.get_running_loop().create_future()
            future.set_exception(ValueError("\x1b]0;owned"))
            del future
        await asyncio.sleep(0)

    with relayed(make_log("info", stream)):
        asyncio.run(main())
    (line,) = stream.getvalue().splitlines()
    assert "ValueError" in line
    assert "\x1b" not in line
