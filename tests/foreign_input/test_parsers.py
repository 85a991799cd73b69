"""Whatever strangers send is read in linear time, through doors that are all in one list."""

import re
from pathlib import Path

import pytest

from tests.foreign_input import (
    access,
    answers,
    broker,
    callbacks,
    events,
    mail,
    pages,
    requests,
    returns,
    rules,
    timetables,
    wires,
)
from tests.foreign_input.finding import found, missing, stale
from tests.foreign_input.shape import RATIO_MAX, Door, breaches

SOURCE = Path(__file__).parents[2] / "src" / "postroad"
DOORS = (
    *access.DOORS,
    *answers.DOORS,
    *requests.DOORS,
    *wires.DOORS,
    *broker.DOORS,
    *events.DOORS,
    *returns.DOORS,
    *callbacks.DOORS,
    *mail.DOORS,
    *rules.DOORS,
    *pages.DOORS,
    *timetables.DOORS,
)
COVERED = frozenset(name for door in DOORS for name in door.covers)
OURS = {
    "ports/sql.py:": "statements that this release ships",
    "demo/": "the demo's own servers, for one minute on this machine",
    "testing/": "what tests say to each other",
    "cli/": "what its user types, and what their own server answers",
    "remote/": "what their own server answers; what anybody could is listed in wires.py",
    "observe/watcher.py:": "/proc, from the kernel",
    "ports/cores.py:": "/sys, from the kernel",
    "dashboard/front.py:API": "paths of our own routes",
    "dashboard/views/timetables.py:_on_the_wall": "a zone that the API has just told",
    "django/database.py:_named": "an address of the settings, which was read before",
    "transports/child_frames.py:": "what this process writes to its own children, and they to it",
    "transports/child_main.py:": "the name of a registered function, from the parent process",
    "transports/job_result.py:with_result": "an error of our own",
    "stores/postgres/": "rows that this release wrote; addresses are listed above",
    "stores/sqlite/": "rows that this release wrote",
    "stores/rules.py:": "rows that this release wrote",
    "rules/shipped_rules.py:": "files that this release ships",
    "transports/smtp/domain_checks.py:_reverse": "addresses as the resolver's library writes them",
    "stores/campaign_rows.py:": "rows that this release wrote",
    "stores/erasing.py:": "rows that this release wrote",
    "stores/events.py:": "rows that this release wrote",
    "stores/exported_rows.py:_row": "names of our columns",
    "stores/replays.py:": "rows that this release wrote",
    "engine/replaying.py:CHANNELS": "rows that this release wrote",
    "stores/tenants.py:": "rows that this release wrote",
    "stores/tokens.py:": "rows that this release wrote",
    "stores/webhooks.py:": "rows that this release wrote",
    "campaigns/importing.py:_next": "JSON that was written a line before",
    "api/docs_page.py:": "docstrings of our own",
    "api/examples.py:": "types of our own",
    "api/openapi.py:": "docstrings of our own",
    "api/unsubscribe_page.py:read_words": "a file that the operator wrote",
    "api/port_owner.py:": "/proc, from the kernel",
    "api/machine_checks.py:check_sqlite": "the version that SQLite calls itself",
    "django/running.py:_kept": "a sentence of our own",
    "api/login_file.py:read_login_file": "a file that the operator wrote",
    "api/login_file.py:_check": "a file that the operator wrote",
    "dashboard/logins/openid.py:_with": "an address that was checked where it was read",
    "api/routes/campaign_drafts.py:campaign_edit": "fields that its decoder has checked",
    "dashboard/portal/colours.py:look": "a colour that was checked when its link was made",
    "dashboard/portal/texts.py:languages": "files that this release ships",
    "dashboard/asking.py:PageApi": "what the API of this process answers",
    "api/in_process.py:_scope": "a request that this process makes to itself",
    "transports/webhook/connections.py:ConnectionPool": "it makes connections, and reads nothing",
    "transports/credential_cache.py:": "secrets that this release wrote and sealed",
    "transports/webhook/endpoints.py:": "settings that this release wrote and sealed",
    "bounces/listener.py:_is_loopback": "addresses as the kernel writes them",
    "model/bounce_address.py:_options": "a setting, which the operator writes",
    "model/setting_checks.py:check_networks": "settings, by the same call as other networks",
    "config.py:_check_mail": "settings, by the same call as other networks",
    "api/problems.py:BOUND": "what msgspec says of a bound",
    "dashboard/submissions.py:FORM": "a page of ours, in which what others wrote is escaped",
    "transports/smtp/making.py:MailMaker": "base64 that was checked at the door",
    "transports/smtp/dkim.py:SIGNED": "names of our own",
    "transports/smtp/opening.py:Server": "an address that was vetted",
    "transports/smtp/resolver.py:DnsResolver": "records that dnspython has read and we have written",
    "transports/smtp/mail_routes.py:MailHost": "a host that was read, of settings or of a domain's records",
    "transports/smtp/mail_routes.py:RelayRoute": "an address that was vetted",
    "verbs/webhooks.py:credential_of": "a URL that was vetted",
    "stores/sql.py:": "names of our migrations",
}
"""What is not foreign, by how its name begins, and why."""


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_foreign_bytes_are_read_in_linear_time(door: Door) -> None:
    worse = breaches(door)
    assert not worse, "\n".join(worse)


def test_a_pattern_that_is_cubic_in_blanks_is_found_out() -> None:
    """The one that answers of webhooks were read with."""
    pattern = re.compile(rb"([!-~]+):[ \t]*([^\r\0]*?)[ \t]*")
    door = Door(
        "a header",
        pattern.fullmatch,
        (),
        size=240,
        frames=((b"a:", b"\0"),),
        fills=("blanks",),
    )
    (breach,) = breaches(door)
    assert float(breach.split()[-2]) > RATIO_MAX


def test_every_pattern_and_parser_has_its_door() -> None:
    there = found(SOURCE)
    unlisted, gone = missing(there, COVERED, OURS), stale(there, COVERED)
    assert not unlisted, f"list these in tests/foreign_input, with hostile inputs: {unlisted}"
    assert not gone, f"these are listed in tests/foreign_input and not there: {gone}"


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("a.py", "import re\nNEW: Final = re.compile(r'(a+)+b')\n", "a.py:NEW"),
        ("a.py", "import re\ndef f(x):\n    return re.search('a', x)\n", "a.py:f"),
        (
            "room/b.py",
            "class C:\n    def f(self, x):\n        return x.split(',')\n",
            "room/b.py:C",
        ),
        ("a.py", "READ = msgspec.json.Decoder(int)\n", "a.py:READ"),
        ("a.py", "async def f(x):\n    return [urlsplit(y) for y in x]\n", "a.py:f"),
        ("q/a.sql", "-- finds\nselect 1 where a ~ '^b+$'\n", "q/a.sql:sql"),
    ],
)
def test_one_that_is_not_listed_is_named(tmp_path: Path, file: str, text: str, name: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    there = found(tmp_path)
    assert missing(there, COVERED, OURS) == [name]
    assert missing(there, COVERED | {name}, OURS) == []
    assert stale(there, frozenset((name, "a.py:GONE"))) == ["a.py:GONE"]
