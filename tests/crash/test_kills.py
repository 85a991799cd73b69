"""kill -9 at random moments: nothing accepted is lost, and no more is repeated than was cut."""

from collections import Counter

import pytest

from tests.crash.book import Book, Entry
from tests.crash.killing import Report, check, finish, kill_rounds
from tests.crash.orders import Order, Parcel, tag
from tests.crash.stand import Stand
from tests.crash.states import Found, State

KILLS = 6


def test_what_was_accepted_survives_kills_at_random_moments() -> None:
    report = kill_rounds(KILLS, seconds=90)
    assert report.breaches == []
    assert report.in_flight == KILLS
    # The test itself had something to look at: tries were cut, and some were made again.
    assert report.accepted > KILLS * 10
    assert report.cut > 0
    assert report.states["delivered"] > report.accepted / 2


def test_at_most_once_in_flight_at_a_kill_is_uncertain_and_never_resent() -> None:
    with Stand() as stand:
        stand.live(Order(parcels=[Parcel(tag("once", 0, 0), wait_ms=60_000)]))
        stand.wait_said("start")
        stand.kill()
        for _ in range(2):
            assert finish(stand).count("uncertain") == 1
        assert len(stand.fsynced_book().said("start")) == 1


# The checks themselves: each is shown a breach, and must name it.

DONE = State("delivered", attempts=1, level=0, marks=0, lane=1, reason="")
ASKED = Entry("asked", tag="quick/-/0/1", at_ms=100)
ACCEPTED = Entry("accepted", "m1", "quick/-/0/1")
START = Entry("start", "m1", "quick/-/0/1", attempt=1, at_ms=100)
END = Entry("done", "m1", "quick/-/0/1", attempt=1, note="ok")
GOOD = [ASKED, ACCEPTED, START, END]


def ordered(word: str, name: str, number: int) -> Entry:
    return Entry(word, name, f"keys/a/0/{number}", attempt=1, note="ok")


def checked(
    entries: list[Entry],
    messages: dict[str, State],
    integrity: str = "ok",
    forgotten: Counter[str] | None = None,
) -> Report:
    report = Report()
    found = Found(messages, 0, 0, 0, [], integrity)
    cut = forgotten or Counter()
    check(Book(entries), found, cut, report, forgets=forgotten is not None)
    return report


def test_a_good_book_has_no_breach() -> None:
    assert checked(GOOD, {"m1": DONE}).breaches == []


@pytest.mark.parametrize(
    ("entries", "messages", "promise"),
    [
        ([ASKED, ACCEPTED], {}, "no loss"),
        ([ASKED, ACCEPTED], {"m1": DONE}, "no loss"),
        ([ASKED, ACCEPTED], {"m1": State("waiting", 0, 0, 0, 1, "")}, "idle"),
        (GOOD[1:], {"m1": DONE}, "no phantom"),
        ([*GOOD, START, END], {"m1": DONE}, "repeats"),
        ([*GOOD[:2], Entry("start", "m1", ASKED.tag, 1, 99), END], {"m1": DONE}, "never early"),
    ],
)
def test_a_breach_is_named(entries: list[Entry], messages: dict[str, State], promise: str) -> None:
    breaches = checked(entries, messages).breaches
    assert breaches
    assert {breach.split(":")[0] for breach in breaches} == {promise}


def test_a_message_that_overtakes_its_key_is_named() -> None:
    lines = [("asked", "", 1), ("asked", "", 2), ("start", "m1", 1), ("start", "m2", 2)]
    lines += [("done", "m1", 1), ("done", "m2", 2)]
    report = checked([ordered(*line) for line in lines], {"m1": DONE, "m2": DONE})
    assert report.breaches == ["order: keys a: keys/a/0/2 was started before keys/a/0/1 was over"]


def test_a_damaged_file_is_named() -> None:
    assert checked(GOOD, {"m1": DONE}, "row 3 missing").breaches == ["integrity: row 3 missing"]


def test_a_forgotten_result_may_be_repeated_after_the_next_began_but_not_first_made_then() -> None:
    lines = [("asked", "", 1), ("asked", "", 2), ("start", "m1", 1), ("done", "m1", 1)]
    again = [("start", "m2", 2), ("start", "m1", 1), ("done", "m1", 1), ("done", "m2", 2)]
    book = [ordered(*line) for line in lines + again]
    states, m1 = {"m1": DONE, "m2": DONE}, Counter({"m1": 1})
    assert checked(book, states, forgotten=m1).breaches == []
    overtaken = [one for one in book if one not in book[2:4]] + book[2:4]
    assert [text.split(":")[0] for text in checked(overtaken, states, forgotten=m1).breaches] == [
        "order"
    ]
