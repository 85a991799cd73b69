"""What the bench `pages` puts on pages that show neither messages nor queues."""

from typing import Final

from tests.dashboard.stand import PageStand

ROWS: Final = 1_000
NAME: Final = "main"
URL: Final = "https://customer.example.com/{:06}"
NUMBER: Final = "+1555{:07}"
CSV: Final = {"content-type": "text/csv"}
SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CREDENTIAL: Final = {"name": NAME, "kind": "webhook", "secret": SECRET}
CAMPAIGN: Final = {"name": NAME, "credential": NAME, "template": "Hello {{recipient}}"}
TIMETABLE: Final = {"queue": "good", "cron": "0 9 * * *", "zone": "Europe/Berlin", "body": None}
TIMETABLES: Final = 60
SHOWN: Final = (
    f"/campaign?name={NAME}",
    f"/credential?name={NAME}",
    "/timetable?name=t07",
    "/suppressions",
    "/messages?state=dead&text=customer",
)


async def make_shown(stand: PageStand) -> None:
    """Make a credential, a campaign, timetables, and people who are not sent to."""
    await _made(stand, "/v1/credentials", CREDENTIAL)
    await _made(stand, "/v1/campaigns", CAMPAIGN)
    await _made(stand, f"/v1/campaigns/{NAME}/import", _csv(URL))
    await _made(stand, "/v1/suppressions:import", _csv(NUMBER))
    for n in range(TIMETABLES):
        await _made(stand, "/v1/timetables", {"name": f"t{n:02}", **TIMETABLE})


def _csv(form: str) -> bytes:
    return "\n".join(["recipient", *(form.format(n) for n in range(ROWS))]).encode()


async def _made(stand: PageStand, path: str, data: object) -> None:
    headers = CSV if isinstance(data, bytes) else {}
    answer = await stand.say("POST", path, data, headers=headers)
    assert answer.status < 300, (path, answer.content)
