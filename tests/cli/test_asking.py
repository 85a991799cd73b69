"""Commands for the dead set, queues, lanes, levels and tokens, on a road that nobody runs."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Reject
from tests.cli.running import data, postroad


@pytest.fixture
def dead(road: str) -> list[str]:
    """Three messages that died in `bad`."""

    async def die() -> list[str]:
        ours = Postroad(road)

        @ours.handler("bad")
        async def bad(_message: Any) -> None:
            raise Reject("never")

        async with ours:
            ids = [(await ours.send("bad", number)).id for number in range(3)]
            await ours.run(until_idle=True)
        return ids

    return asyncio.run(die())


def test_the_dead_are_listed_shown_replayed_and_purged(dead: list[str]) -> None:
    assert len(data("dead", "list", "--queue", "bad")["messages"]) == 3
    assert "never" in postroad("dead", "list").stdout
    page = data("dead", "list", "--limit", "2")
    rest = data("dead", "list", "--after", page["after"])
    assert {row["id"] for row in page["messages"] + rest["messages"]} == set(dead)
    assert data("dead", "show", dead[0])["body"] == 0
    assert "rejected" in postroad("dead", "show", dead[0]).stdout
    assert data("dead", "replay", "--reason", "rejected", "--dry-run")["count"] == 3
    assert data("dead", "replay", dead[0], "--mode", "reset")["count"] == 1
    again = postroad("dead", "replay", dead[0])
    assert again.exit_code == 1
    assert "not" in again.stderr
    unsure = postroad("dead", "purge", "--queue", "bad", given="n\n")
    assert unsure.exit_code == 2
    assert "2 dead messages" in unsure.stderr
    assert "2 purged" in postroad("dead", "purge", "--queue", "bad", "--yes").stdout
    assert "no dead messages" in postroad("dead", "list").stderr
    for words in (["replay"], ["purge", "--yes"]):
        assert postroad("dead", *words).exit_code == 2


def test_the_dead_of_a_stretch_of_time_are_replayed_and_purged(dead: list[str]) -> None:
    """From `--since` on, up to `--until` and not with it."""
    rows = data("dead", "list")["messages"]
    died = [datetime.fromtimestamp(row["died_at_ms"] / 1000, UTC) for row in rows]
    first, after_all = (at.isoformat() for at in (min(died), max(died) + timedelta(seconds=1)))
    for verb in ("replay", "purge"):
        counts = [
            data("dead", verb, "--dry-run", *words)["count"]
            for words in (
                ("--since", first),
                ("--since", first, "--until", after_all),
                ("--until", first),
                ("--since", after_all),
            )
        ]
        assert counts == [3, 3, 0, 0]
        for wrong in ("yesterday", "2026-01-31T12:00:00"):
            refused = postroad("dead", verb, "--since", wrong, "--dry-run")
            assert refused.exit_code == 2
            assert "since" in refused.stderr
    assert data("dead", "purge", "--since", after_all, "--yes")["count"] == 0
    assert data("dead", "purge", "--until", after_all, "--yes")["count"] == len(dead)
    assert data("dead", "list")["messages"] == []


def test_queues_and_lanes_are_shown_paused_resumed_and_explained(road: str) -> None:
    assert road
    data("send", "good", "1")
    assert [row["queue"] for row in data("queues")["queues"]] == ["bad", "good", "slow"]
    assert "--after bad" in postroad("queues", "--limit", "1").stderr
    assert data("pause", "good") == {"done": "paused", "queue": "good", "lane": 0}
    assert "paused" in postroad("queues").stdout
    assert "1 held" in postroad("explain", "good").stdout
    assert data("explain", "good")["paused"] is True
    lane = data("lanes")["lanes"][0]["id"]
    assert data("pause", "--lane", str(lane))["lane"] == lane
    assert data("explain", "--lane", str(lane))["paused"] is True
    assert "handler" in postroad("lanes", "--limit", "3").stdout
    assert data("resume", "--lane", str(lane))["done"] == "resumed"
    assert data("resume", "good")["done"] == "resumed"
    assert data("unblock", "good")["done"] == "unblocked"
    for words in (["pause"], ["pause", "good", "--lane", "1"], ["resume", "nope"], ["explain"]):
        assert postroad(*words).exit_code == 2


def test_queues_and_lanes_are_limited(road: str) -> None:
    assert road
    data("send", "good", "1")
    assert data("limit", "50/s", "good") == {"done": "limited", "queue": "good", "lane": 0}
    assert [limit["limit"] for limit in data("explain", "good")["limits"]] == ["50/s"]
    assert "from now on: none" in postroad("limit", "none", "good").stdout
    assert data("explain", "good")["limits"] == []
    lane = data("lanes")["lanes"][0]["id"]
    assert data("limit", "30/s", "--lane", str(lane), "--cost", "3")["lane"] == lane
    for words in (["limit", "fast", "good"], ["limit", "0/s", "good"], ["limit", "5/s"]):
        assert postroad(*words).exit_code == 2


def test_limits_over_many_lanes_are_set_listed_and_lifted(road: str) -> None:
    assert road
    data("send", "good", "1")
    put = ("limit", "10/s", "--name", "ours", "--lanes", "handler:g*", "--hours", "09:00-20:00")
    assert data(*put)["zone"] == "UTC"
    assert "10/s, 09:00-20:00 UTC" in postroad(*put).stdout
    assert [(one["name"], one["hours"]) for one in data("explain", "good")["limits"]] == [
        ("ours", "09:00-20:00")
    ]
    assert data("limit", "none", "--name", "all", "--lanes", "*", "--hours", "08:00-22:00",
                "--everywhere")["tenant"] == "*"  # fmt: skip
    assert [one["name"] for one in data("limits")] == ["ours", "all"]
    assert "handler:g*" in postroad("limits").stdout
    assert data("limit", "none", "--name", "ours") == {"deleted": "ours"}
    assert data("limit", "none", "--name", "all", "--everywhere") == {"deleted": "all"}
    assert "no named limits" in postroad("limits").stderr
    for words in (
        ["limit", "5/s", "good", "--name", "x"],
        ["limit", "5/s", "--name", "x"],
        ["limit", "5/s", "good", "--lanes", "web:*"],
        ["limit", "5/s", "good", "--hours", "09:00-20:00", "--zone", "Mars/Olympus"],
    ):
        assert postroad(*words).exit_code == 2, words
    assert data("limit", "none", "good", "--hours", "09:00-20:00")["done"] == "limited"


def test_answer_rules_are_put_listed_tried_out_and_deleted(road: str) -> None:
    assert road
    put = ("rules", "put", "busy", "--lanes", "smtp:*", "--do", "hold_lane", "--status", "421",
           "--text", "too fast", "--lasts", "15min", "--count", "2", "--within", "10min")  # fmt: skip
    made = data(*put)
    assert (made["lasts_s"], made["within_s"], made["tenant"]) == (900, 600, "default")
    assert data("rules")[0]["name"] == data("rules", "list")[0]["name"] == "busy"
    listed = postroad("rules").stdout
    assert "hold_lane 15 min from 2 in 10 min" in listed
    assert "gmail/too-fast" in listed
    said = postroad("rules", "test", "421 4.7.0 Too fast", "--lane", "smtp:google.com").stdout
    assert "busy (smtp:*) applies: it holds the lane for 15 min, once a lane gave 2" in said
    assert "no rule applies" in postroad("rules", "test", "451 4.3.0 x", "--lane", "web:a").stdout
    assert data("rules", "delete", "busy") == {"deleted": "busy"}
    for words in (
        ["rules", "put", "x", "--lanes", "smtp:*", "--do", "reject", "--text", "("],
        ["rules", "put", "x", "--lanes", "smtp:*", "--do", "shout", "--status", "421"],
        ["rules", "test", "too fast"],
        ["rules", "delete", "busy"],
    ):
        assert postroad(*words).exit_code == 2, words


def test_levels_and_stats(road: str) -> None:
    assert road
    data("send", "good", "1")
    assert [row["waiting"] for row in data("levels")] == [1, 0, 0, 0, 0, 0, 0]
    assert "889 queries/h" in postroad("levels").stderr
    assert data("stats")["waiting"] == 1
    assert "oldest due" in postroad("stats").stdout


def test_tokens_are_made_listed_and_revoked(road: str) -> None:
    assert road
    made = postroad("token", "make", "ops", "--scope", "read", "--lasts", "7d")
    assert made.stdout.startswith("prt_")
    (row,) = data("token", "list")
    assert (row["name"], row["scopes"], row["tenant"]) == ("ops", ["read"], "default")
    assert made.stdout.strip() not in postroad("token", "list").output
    other = data("token", "make", "them", "--tenant", "acme")
    assert other["token"]["tenant"] == "acme"
    every = postroad("token", "make", "ops of all", "--everywhere")
    assert "for every tenant" in every.stderr
    assert "*" in {one["tenant"] for one in data("token", "list")}
    refused = postroad("token", "make", "x", "--everywhere", "--tenant", "acme")
    assert (refused.exit_code, "leave --tenant out" in refused.stderr) == (2, True)
    assert postroad("token", "revoke", row["id"]).exit_code == 0
    assert postroad("token", "revoke", row["id"]).exit_code == 2
    assert postroad("token", "make", "x", "--scope", "root").exit_code == 2


def test_a_batch_with_a_bad_half_says_which_lines(road: str, folder: Path) -> None:
    assert road
    lines = ['{"queue": "good", "body": 1}', "{x", '{"queue": "nope", "body": 1}']
    (folder / "many.ndjson").write_text("\n".join(lines))
    result = postroad("batch", "many.ndjson")
    assert result.exit_code == 1
    assert "1 stored, 0 duplicates, 2 refused" in result.stdout
    assert "line 2: the body is not JSON" in result.stderr
    assert "line 3: no handler 'nope'" in result.stderr
    piped = postroad("batch", "-", "--json", given=lines[0])
    answers = [json.loads(line) for line in piped.stdout.splitlines()]
    assert answers[0]["status"] == 201
    assert answers[-1] == {"done": True, "stored": 1, "duplicates": 0, "refused": 0}
    missing = postroad("batch", "nothing.ndjson")
    assert (missing.exit_code, "cannot read" in missing.stderr) == (2, True)


def test_line_numbers_go_on_from_one_request_to_the_next(road: str, folder: Path) -> None:
    assert road
    good = '{"queue": "good", "body": 1}\n'
    (folder / "many.ndjson").write_text(good * 5_100 + "{x\n")
    result = postroad("batch", "many.ndjson")
    assert "line 5101: the body is not JSON" in result.stderr
    assert "5100 stored" in result.stdout


def test_limits_cancels_and_settling(road: str) -> None:
    assert road
    number = data("send", "good", "1")["id"]
    assert data("limit", "50/s", "good")["done"] == "limited"
    assert "none" in postroad("limit", "none", "good").stdout
    assert postroad("limit", "fast", "good").exit_code == 2
    settled = postroad("message", "settle", number, "sent")
    assert (settled.exit_code, "not uncertain" in settled.stderr) == (1, True)
    assert postroad("cancel-all").exit_code == 2
    assert postroad("cancel-all", "good", given="n\n").exit_code == 2
    assert data("cancel-all", "good", "--yes")["cancelled"] == 1


def test_top_draws_everything_once(road: str) -> None:
    assert road
    data("send", "good", "1")
    look = data("top", "--once")
    assert look["stats"]["waiting"] == 1
    drawn = postroad("top", "--once").stdout
    for word in ("1 waiting", "nobody delivers", "lanes to", "queue", "good"):
        assert word in drawn


def test_migrate_says_how_many_steps_it_took(folder: Path) -> None:
    first = data("migrate")
    assert (first["steps"], first["version"]) == (1, 100)
    assert (folder / "road" / "road.db").exists()
    assert data("migrate")["steps"] == 0
    assert "0 steps" in postroad("migrate").stdout


def test_the_demo_is_a_command_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def main(words: list[str]) -> int:
        asked.append(words)
        return 0

    monkeypatch.setattr("postroad.demo.__main__.main", main)
    assert postroad("demo", "--messages", "20", "--plain").exit_code == 0
    assert asked == [["--messages", "20", "--speed", "60.0", "--plain"]]
