"""Every fault of a server lands in its outcome, in time, and in bounded memory.

This is the contract with the HTTP client: an upgrade that changes what its errors say fails here.
"""

import asyncio
import resource
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.model.try_details import TryDetails
from postroad.model.webhook import WebhookRules
from tests.servers.nginx import PrivateNginx
from tests.webhook.conftest import LOCAL
from tests.webhook.stand import Tried, tries

Within = Callable[[Coroutine[Any, Any, Any]], Any]

RULES = replace(LOCAL, connect_timeout_ms=20_000, timeout_ms=40_000)
HASTY = replace(LOCAL, connect_timeout_ms=1_500, timeout_ms=3_000)
"""For servers that never answer; another one may be late on a busy machine."""
SLACK_S = 30.0
"""A busy machine may be late; a try that hangs is not late but never ends."""

# fault: (outcome, status, the class of the fault in the attempt log)
OUTCOMES = {
    "fine": ("delivered", 200, ""),
    "refused": ("unreachable", 0, "refused"),
    "full_backlog": ("unreachable", 0, "connect_timeout"),
    "reset_before_reading": ("unknown", 0, "reset"),
    "reset_after_reading": ("unknown", 0, "reset"),
    "close_after_reading": ("unknown", 0, "closed"),
    "stall_before_reading": ("unknown", 0, "timeout"),
    "stall_after_reading": ("unknown", 0, "timeout"),
    "stall_in_head": ("unknown", 0, "timeout"),
    "drip_head": ("unknown", 0, "timeout"),
    "endless_headers": ("unknown", 0, "answer_too_large"),
    "endless_header": ("unknown", 0, "answer_too_large"),
    "endless_continue": ("unknown", 0, "answer_too_large"),
    "garbage": ("unknown", 0, "protocol"),
    "two_lengths": ("unknown", 0, "protocol"),
    # A pattern that was cubic in blanks held the loop for hours here.
    "blanks_and_a_nul": ("unknown", 0, "protocol"),
    "nothing_but_blanks": ("delivered", 200, ""),
    "byte_by_byte": ("delivered", 200, ""),
    # A status is an answer, whatever becomes of its body.
    "endless_body": ("delivered", 200, ""),
    "endless_error_body": ("failed", 500, ""),
    "stall_in_body": ("delivered", 200, "answer_broken"),
    "stall_in_error_body": ("quota", 429, "answer_broken"),
    "cut_body": ("delivered", 200, "answer_broken"),
    "reset_in_body": ("delivered", 200, "answer_broken"),
    "bad_chunks": ("delivered", 200, "answer_broken"),
    "bad_encoding": ("delivered", 200, ""),
    "odd_bytes": ("delivered", 200, ""),
    "early_answer": ("failed", 413, ""),
}


def one(within: Within, folder: Path, url: str, rules: WebhookRules = RULES) -> Tried:
    (tried,) = within(tries(folder, url, rules, body=b"x" * 3_000))
    assert isinstance(tried, Tried)
    return tried


@pytest.mark.parametrize("fault", OUTCOMES)
def test_each_fault_has_its_outcome(
    fault: str, faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    hangs = "timeout" in OUTCOMES[fault][2] or fault.startswith("stall")
    rules = HASTY if hangs else RULES
    tried = one(within, tmp_path, f"http://127.0.0.1:{faults[fault]}/{fault}", rules)
    outcome = tried.outcome
    details = outcome.details or TryDetails()
    assert (outcome.kind, outcome.status, details.fault) == OUTCOMES[fault], outcome
    assert tried.took_s < rules.timeout_ms / 1000 + SLACK_S
    assert details.address == f"127.0.0.1:{faults[fault]}"
    assert len(details.answer) <= 16 << 10


def test_every_fault_of_the_server_is_in_the_table(faults: dict[str, int]) -> None:
    assert set(faults) == set(OUTCOMES)


@pytest.mark.parametrize(
    "fault", ["fine", "stall_before_reading", "reset_before_reading", "refused"]
)
def test_a_server_without_tls_was_certainly_not_sent_anything(
    fault: str, faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    """The handshake is part of connecting: only then does a request leave."""
    tried = one(within, tmp_path, f"https://127.0.0.1:{faults[fault]}/", HASTY)
    assert tried.outcome.kind == "unreachable"
    assert tried.took_s < HASTY.timeout_ms / 1000 + SLACK_S


def test_a_certificate_that_nobody_signed_is_unreachable(
    nginx: PrivateNginx, tmp_path: Path, within: Within
) -> None:
    outcome = one(within, tmp_path, nginx.url("/ok", tls=True)).outcome
    assert outcome.kind == "unreachable"
    assert outcome.details is not None
    assert outcome.details.fault == "tls"


@pytest.mark.parametrize("fault", ["endless_body", "endless_headers", "endless_error_body"])
def test_memory_stays_bounded(
    fault: str, faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    url = f"http://127.0.0.1:{faults[fault]}/"
    within(tries(tmp_path, url, RULES, count=3))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    within(tries(tmp_path, url, RULES, count=30))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 30 << 10, f"{grown_kib} KiB for 30 answers"


def test_a_name_that_is_gone_is_unreachable_and_is_asked_for_again(
    faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    asked: list[str] = []

    async def resolve(name: str) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    url = f"http://hook.example:{faults['refused']}/"
    told = within(tries(tmp_path, url, RULES, count=3, resolve=resolve))
    assert [tried.outcome.kind for tried in told] == ["unreachable"] * 3
    assert asked == ["hook.example"] * 3, "after a failed connect the name is resolved again"
    url = f"http://hook.example:{faults['fine']}/"
    asked.clear()
    told = within(tries(tmp_path, url, RULES, count=3, resolve=resolve))
    assert [tried.outcome.kind for tried in told] == ["delivered"] * 3
    assert asked == ["hook.example"], "and not while it works"


def test_the_next_address_is_tried_when_the_first_does_not_connect(
    faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    """On 127.0.0.2 nobody listens; the request goes out once."""
    port = faults["fine"]

    async def resolve(_name: str) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    with socket.socket() as taken:
        taken.bind(("127.0.0.2", port))
        told = within(
            tries(tmp_path, f"http://hook.example:{port}/", RULES, count=2, resolve=resolve)
        )
    assert [tried.outcome.kind for tried in told] == ["delivered"] * 2
    assert [tried.outcome.details.address for tried in told] == [f"127.0.0.1:{port}"] * 2


def test_a_try_that_may_have_left_is_not_repeated_elsewhere(
    faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    port = faults["reset_after_reading"]
    seen: list[str] = []

    async def resolve(_name: str) -> list[str]:
        return ["127.0.0.1", "127.0.0.3"]

    async def story() -> None:
        async def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append("second")
            writer.close()

        server = await asyncio.start_server(take, "127.0.0.3", port)
        (tried,) = await tries(tmp_path, f"http://hook.example:{port}/", RULES, resolve=resolve)
        assert tried.outcome.kind == "unknown"
        server.close()

    within(story())
    assert seen == []
