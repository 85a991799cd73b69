"""A road logs to Python's logging where the program has handlers, and else by itself."""

import asyncio
import io
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from postroad.observe.gathering import FIRSTS_MAX, KINDS_MAX, WINDOW_S, EventGathering, FirstTimes
from postroad.observe.log import OwnHandler, make_log
from postroad.ports.clock import LoopClock
from postroad.testing.simloop import SimLoop

PROGRAM = """
import asyncio, logging, logging.config, sys
{configure}
from postroad import Postroad

road = Postroad("sqlite:///{folder}/road.db")

@road.handler("work")
async def work(message):
    raise ValueError("no\\nlevel=error event=forged")

async def main():
    async with road:
        await road.send("work", 1)
        await road.run(until_idle=True)

asyncio.run(main())
"""


DICT_CONFIG = """
logging.config.dictConfig({
    "version": 1,
    "formatters": {"f": {"format": "HOST %(name)s %(levelname)s %(message)s"}},
    "handlers": {"h": {"class": "logging.StreamHandler", "formatter": "f"}},
    "loggers": {"postroad": {"level": "INFO", "handlers": ["h"]}},
})
"""


def lines_of(folder: Path, configure: str) -> list[str]:
    """What a program with these settings of its logging writes to standard error."""
    code = PROGRAM.format(configure=configure, folder=folder)
    run = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    return run.stderr.splitlines()


def test_a_program_that_configured_nothing_gets_lines_of_ours(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "")
    (place,) = [n for n, line in enumerate(lines) if "a handler raised" in line]
    assert lines[place].startswith("timestamp=")
    assert lines[place + 1] == "  Traceback (most recent call last):"
    assert "  ValueError: no" in lines
    assert not any(line.startswith("level=error event=forged") for line in lines)
    assert any("level=info" in line for line in lines)


@pytest.mark.parametrize(
    "configure",
    [
        'logging.basicConfig(level="INFO", format="HOST %(name)s %(levelname)s %(message)s")',
        DICT_CONFIG,
    ],
    ids=["basicConfig", "dictConfig"],
)
def test_a_programs_own_handlers_get_every_line_once(tmp_path: Path, configure: str) -> None:
    lines = lines_of(tmp_path, configure)
    assert not any("timestamp=" in line for line in lines)
    (raised,) = [line for line in lines if "a handler raised" in line]
    assert raised.startswith("HOST postroad WARNING a handler raised queue=work raised=ValueError")
    assert "Traceback (most recent call last):" in lines
    assert any(line.startswith("HOST postroad INFO made a key") for line in lines)


def test_the_level_that_a_program_sets_counts(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, 'logging.basicConfig(level="WARNING", format="%(levelname)s")')
    assert lines[0] == "WARNING"
    assert "INFO" not in lines


def test_a_record_has_its_event_its_facts_and_the_place_that_logged_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = make_log("debug")
    with caplog.at_level(logging.INFO, logger="postroad"):
        log.debug("left out")
        log.info("100 % sure", queue="a b\n", count=3)
    (record,) = caplog.records
    assert record.getMessage() == r'100 % sure queue="a b\n" count=3'
    assert vars(record)["event"] == "100 % sure"
    assert vars(record)["facts"] == {"queue": "a b\n", "count": 3}
    assert record.pathname == __file__


def test_a_handler_of_ours_does_not_count_as_the_programs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [OwnHandler(), logging.NullHandler()])
    make_log("info").info("written")
    assert "event=written" in capsys.readouterr().err


def in_simulated_time(lines: io.StringIO, count: int) -> None:
    async def story() -> None:
        log = make_log("info", lines)
        gathering = EventGathering(LoopClock())
        for number in range(count):
            gathering.add(log.info, "strange", {"name": number}, full=1)
        await asyncio.sleep(WINDOW_S + 1)
        gathering.close()

    with SimLoop(1) as loop:
        loop.run(story())


def test_names_that_strangers_choose_do_not_fill_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.StringIO()
    in_simulated_time(lines, 10_000)
    told = lines.getvalue().splitlines()
    assert len(told) <= KINDS_MAX + 2
    assert f"more={10_000 - KINDS_MAX - 1} " in told[-1]
    monkeypatch.setattr("postroad.observe.gathering.KINDS_MAX", 100_000)
    unbounded = io.StringIO()
    in_simulated_time(unbounded, 10_000)
    assert len(unbounded.getvalue().splitlines()) == 10_000


def test_what_is_told_once_an_hour_is_remembered_up_to_a_number() -> None:
    async def story() -> None:
        first = FirstTimes(LoopClock())
        assert [first.is_first("a"), first.is_first("a")] == [True, False]
        assert sum(first.is_first(number) for number in range(2 * FIRSTS_MAX)) == FIRSTS_MAX - 1
        await asyncio.sleep(3_601)
        assert [first.is_first("a"), first.is_first("new")] == [True, True]

    with SimLoop(1) as loop:
        loop.run(story())


def test_an_outage_of_the_store_is_a_line_one_a_minute_and_one_at_its_end() -> None:
    lines = io.StringIO()

    async def story() -> None:
        log = make_log("info", lines, clock=LoopClock())
        for second in range(150):
            log.store_failed("claim lanes", OSError(f"away {second}"))
            log.store_failed("record results", OSError(f"away {second}"))
            log.store_works("read what is in memory")  # had not failed: says nothing
            await asyncio.sleep(1)
        log.store_works("record results")
        log.store_works("claim lanes")

    with SimLoop(1) as loop:
        loop.run(story())
    away, minute, two, back = lines.getvalue().splitlines()
    assert 'level=warning event="the store is away" could_not="claim lanes" error="away 0"' in away
    assert 'event="the store is still away"' in minute
    assert "away_s=60 failures=121" in minute
    assert "away_s=120" in two
    assert 'level=info event="the store is back" away_s=150.0 failures=300' in back


def outages(*moments: tuple[float, str]) -> list[tuple[str, str]]:
    """What the log tells of failures (`-x`) and successes (`+x`) at some seconds."""
    lines = io.StringIO()

    async def story() -> None:
        log, at_s = make_log("info", lines, clock=LoopClock()), 0.0
        for second, what in moments:
            await asyncio.sleep(second - at_s)
            at_s = second
            if what[0] == "-":
                log.store_failed(what[1:], OSError("away"))
            else:
                log.store_works(what[1:])

    with SimLoop(1) as loop:
        loop.run(story())
    return re.findall(r'event="the store is ([a-z ]+)"(?:.*(away_s=[0-9.]+))?', lines.getvalue())


def test_a_second_outage_soon_after_the_first_is_told_too() -> None:
    """Nothing was said of one that began within a minute of the last line."""
    assert outages((0, "-claim"), (5, "+claim"), (20, "-claim"), (45, "+claim")) == [
        ("away", ""),
        ("back", "away_s=5.0"),
        ("away", ""),
        ("back", "away_s=25.0"),
    ]


def test_a_store_that_comes_and_goes_does_not_fill_the_log() -> None:
    flapping = [(6 * turn, way) for turn in range(9) for way in ("-claim", "+claim")]
    assert len(outages(*flapping)) == 2 * 5


def test_a_part_that_fails_just_after_the_end_is_no_new_outage_unless_it_goes_on() -> None:
    end = [(0, "-claim"), (9, "+claim")]
    assert len(outages(*end, (10, "-record"), (12, "+record"))) == 2
    assert len(outages(*end, *((second, "-record") for second in range(10, 16)))) == 3


def test_what_failed_once_long_ago_is_no_outage_since_then() -> None:
    """A sweep failed and does not tell that it works: an hour later the store was "still away"."""
    assert outages((0, "-sweep"), (3_600, "-claim"), (3_602, "+claim")) == [
        ("away", ""),
        ("away", ""),
        ("back", "away_s=2.0"),
    ]


def test_what_an_exception_says_cannot_break_a_programs_handlers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = make_log("info")
    for text in ("plain", "half \ud800", "\x1b]0;owned"):
        try:
            raise ValueError(text)  # noqa: TRY301 - it must have been raised
        except ValueError:
            log.exception("it failed")
    plain, half, owned = caplog.records
    assert plain.exc_info is not None
    assert (half.exc_info, owned.exc_info) == (None, None)
    caplog.text.encode()
    assert "ValueError: half" in caplog.text
    assert "\x1b" not in caplog.text
