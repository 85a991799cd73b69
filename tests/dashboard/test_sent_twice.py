"""A form acts once, however often a browser sends it: by a reload, a double click, or Back."""

import re
from typing import Any

import pytest

from postroad.dashboard import submissions
from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.pages import PAGES
from postroad.dashboard.paging import Form
from tests.dashboard.stand import PageStand

URL = "https://93.184.216.34/hook"


async def mark(stand: PageStand, path: str) -> str:
    """The value that the forms of a page carry."""
    found = re.findall(r'name="form_mark" value="(\w+)"', (await stand.get(path)).content.decode())
    assert len(set(found)) == 1, found
    return str(found[0])


async def check_repeat(stand: PageStand, page: str, path: str, **fields: Any) -> str:
    """Send the form of a page, and once more as a reload does; the page that came first."""
    given: Any = {"form_mark": await mark(stand, page), "back": page, **fields}
    first = await stand.post(path, **given)
    again = await stand.post(path, **given)
    assert (first.status, again.status) == (200, 303), again.content
    assert again.headers["location"] == page
    assert submissions.REPEATED.encode() in (await stand.get(page)).content
    return first.content.decode()


async def test_a_reload_of_a_page_with_a_secret_does_nothing_again(stand: PageStand) -> None:
    await stand.login()
    assert "whsec_" in await check_repeat(stand, "/endpoints", "/endpoints/create", url=URL)
    (one,) = (await stand.road.endpoints.list()).endpoints
    own = f"/endpoints/{one.id}"
    assert "whsec_" in await check_repeat(stand, own, "/endpoints/rotate", id=one.id)
    _ = await check_repeat(stand, "/mailboxes", "/mailboxes/create")
    assert len((await stand.road.mailboxes.list()).mailboxes) == 1
    _ = await check_repeat(stand, "/access", "/access/make", name="ci", role="read")
    assert [each.name for each in await stand.road.tokens.list()].count("ci") == 1
    _ = await check_repeat(stand, "/access", "/access/invite", name="Bob", role="read")


async def test_a_button_acts_once_for_each_time_its_page_is_shown(stand: PageStand) -> None:
    await stand.login()
    made = await stand.post("/timetables/create", name="t", queue="good", every="3600")
    assert made.status == 303
    one: Any = {"form_mark": await mark(stand, "/timetables"), "name": "t"}
    assert await told_by(stand, **one) == (True, False)
    assert await told_by(stand, **one) == (False, True)
    one["form_mark"] = await mark(stand, "/timetables")
    assert await told_by(stand, **one) == (True, False)


async def told_by(stand: PageStand, **fields: Any) -> tuple[bool, bool]:
    """Press "Run now": whether it has sent, and whether it was refused as a repeat."""
    await stand.post("/timetables/run", **fields)
    page = (await stand.get("/timetables")).content
    return b"has sent message" in page, submissions.REPEATED.encode() in page


async def test_what_was_refused_may_be_sent_again(stand: PageStand) -> None:
    await stand.login()
    given: Any = {"form_mark": await mark(stand, "/mailboxes"), "quota": "many"}
    for _ in range(2):
        await stand.post("/mailboxes/create", **given)
        assert b"no whole number" in (await stand.get("/mailboxes")).content


async def test_a_form_of_one_session_says_nothing_of_another(stand: PageStand) -> None:
    await stand.login()
    given: Any = {"form_mark": await mark(stand, "/mailboxes")}
    await stand.post("/mailboxes/create", **given)
    stand.cookies.clear()
    await stand.login()
    assert (await stand.post("/mailboxes/create", **given)).status == 200


async def test_a_question_has_an_address_of_its_own(stand: PageStand) -> None:
    await stand.login()
    number = await stand.send("good")
    given: Any = {"form_mark": await mark(stand, "/messages"), "queue": "good"}
    asked = await stand.post("/messages/cancel-all", **given)
    assert asked.status == 303
    for _ in range(2):  # it can be reloaded, and Back leads to it
        shown = await stand.get(asked.headers["location"])
        assert b"Cancel 1 unfinished message of good?" in shown.content
    assert (await stand.post("/messages/cancel-all", **given)).status == 303, "it only asked"
    assert (await stand.road.explain(number)).state == "waiting"
    stand.cookies.clear()
    await stand.login()
    assert (await stand.get(asked.headers["location"])).status == 404


def test_what_is_remembered_of_forms_and_questions_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(submissions, "SENT_MAX", 2)
    monkeypatch.setattr(submissions, "QUESTIONS_MAX", 2)
    made = submissions.Submissions()
    forms = [Form([(submissions.MARK, str(n))]) for n in range(3)]
    keys = [made.claim("me", "/x", form) for form in forms]
    with pytest.raises(ProblemAnswer, match="sent already"):
        made.claim("me", "/x", forms[2])
    assert made.claim("me", "/x", forms[0]) == keys[0], "the oldest is forgotten"
    question = submissions.PageQuestion("me", PAGES[0], "", {}, "/")
    asked = [made.ask(question).partition("=")[2] for _ in range(3)]
    assert [made.question(each, "me") for each in asked] == [None, question, question]
