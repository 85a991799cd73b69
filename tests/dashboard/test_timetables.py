"""Timetables on their pages: made, changed, run, paused and deleted through the forms."""

from tests.dashboard.stand import PageStand
from tests.dashboard.test_actions import act

ONE = "/timetable?name=nightly/.. report"
NAME = "nightly/.. report"


async def make(stand: PageStand, **more: str) -> None:
    await stand.login()
    given = {"name": NAME, "queue": "good", "cron": "0 9 * * *", "zone": "Europe/Berlin"}
    said = await act(stand, "/timetables/create", **given, body='{"for": "ann"}', **more)
    assert "at 09:00 every day Europe/Berlin" in said


async def test_a_timetable_is_made_and_shows_its_next_times_in_words(stand: PageStand) -> None:
    await make(stand)
    assert b"at 09:00 every day Europe/Berlin" in (await stand.get("/timetables")).content
    page = (await stand.get(ONE)).content.decode()
    assert page.count(", 09:00:00</th>") == 5
    assert "&#34;for&#34;: &#34;ann&#34;" in page
    assert (await stand.road.timetables.show(NAME)).missed == "latest"


async def test_a_timetable_is_changed_and_what_is_left_empty_stays(stand: PageStand) -> None:
    await make(stand)
    said = await act(stand, "/timetables/change", name=NAME, cron="", every="90", body="")
    assert "is changed" in said
    told = await stand.road.timetables.show(NAME)
    assert (told.every_s, told.body) == (90, {"for": "ann"})
    assert b"every 1 min 30 s" in (await stand.get(ONE)).content


async def test_a_timetable_is_run_paused_resumed_and_deleted(stand: PageStand) -> None:
    await make(stand, paused="yes")
    assert "has sent message" in await act(stand, "/timetables/run", name=NAME)
    await stand.road.run(until_idle=True)
    assert stand.seen == [{"for": "ann"}]
    assert b"None while it is paused" in (await stand.get(ONE)).content
    assert "goes on" in await act(stand, "/timetables/resume", name=NAME)
    assert "is paused" in await act(stand, "/timetables/pause", name=NAME)
    await stand.post("/timetables/delete", name=NAME)
    assert (await stand.road.timetables.list()).timetables == ()


async def test_what_cannot_be_read_is_told_in_place_and_changes_nothing(stand: PageStand) -> None:
    await make(stand)
    quiet = {"postroad-fetch": "1"}
    for wrong, told in (
        ({"body": "{no json"}, "no JSON"),
        ({"every": "often"}, "no seconds"),
        ({"every": "1e9"}, "every_s: give a number, at most 3"),
        ({"every": "60", "cron": "0 9 * * *"}, "one of them"),
        ({"cron": "61 9 * * *"}, "61 9"),
    ):
        said = (await stand.post("/timetables/change", quiet, name=NAME, **wrong)).json()
        assert said["bad"], wrong
        assert told in said["notice"]
    assert (await stand.road.timetables.show(NAME)).cron == "0 9 * * *"
    await stand.login(role="read")
    assert b"Run now" not in (await stand.get("/timetables")).content
    assert (await stand.post("/timetables/run", quiet, name=NAME)).json()["bad"]
