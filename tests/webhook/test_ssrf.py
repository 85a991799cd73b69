"""Nothing leads a webhook to a forbidden address: connections are counted, not exceptions."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from postroad.model.errors import BadInput
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.target import read
from tests.servers import apt_install
from tests.webhook.vectors import PUBLIC

ROOT = Path(__file__).parents[2]


def lead_all(folder: Path, mode: str) -> Any:
    """In a network of its own where that is allowed: there every address leads to the listener."""
    if shutil.which("ip") is None:
        apt_install("iproute2")
    alone = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    before = ["unshare", "-n"] if alone.returncode == 0 else []
    module = "tests.webhook.ssrf_process"
    command = [
        *before,
        sys.executable,
        "-m",
        module,
        str(folder),
        mode,
        *(["alone"] * bool(before)),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_vector_makes_one_connection(tmp_path: Path) -> None:
    seen = lead_all(tmp_path, "guarded")
    told = seen["told"]
    assert len(told) >= 250
    assert len({kind for kind, *_ in told}) >= 25
    assert [vector for vector in told if vector[2]] == []
    # Each is refused when it is sent, or is an outcome that says why when it turns bad later.
    assert [vector for vector in told if not vector[3].startswith(("refused", "failed: "))] == []
    rebound = [said for kind, _, _, said in told if kind.startswith("rebound")]
    assert all("that webhooks may not call" in said for said in rebound)
    assert len(rebound) > 100
    if seen["everywhere"]:
        # Public ones do get through, once each: no redirect is followed, no proxy is used.
        assert [(address, connects) for address, connects, _ in seen["public"]] == [
            (address, 1) for address in PUBLIC
        ]
        assert seen["proxied"] == 0


@pytest.mark.wide
def test_without_the_guard_the_same_vectors_do_connect(tmp_path: Path) -> None:
    """The guard is taken out: so the count above can fail."""
    seen = lead_all(tmp_path, "open")
    connects = sum(vector[2] for vector in seen["told"])
    assert connects >= (250 if seen["everywhere"] else 20)


async def no_names(name: str) -> list[str]:
    raise AssertionError(name)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_allow_list_lets_in_what_it_names_and_as_it_is_written(address: str) -> None:
    url = f"http://[{address}]:81/" if ":" in address else f"http://{address}:81/"
    rules = WebhookRules(allow=("127.0.0.0/8", "::1/128"), http=True, ports=())
    target = read(url, rules)
    assert target.literal is not None
    Guard(rules, no_names).check("x", target.literal)
    mapped = read("http://[::ffff:127.0.0.1]:81/", rules)
    assert mapped.literal is not None
    with pytest.raises(BadInput, match="mapped"):
        Guard(rules, no_names).check("x", mapped.literal)


def test_what_is_denied_is_denied_although_it_is_public_or_allowed() -> None:
    rules = WebhookRules(allow=("10.0.0.0/8",), deny=("10.1.0.0/16", "8.8.8.0/24"), ports=())
    guard = Guard(rules, no_names)
    for text, fine in (("10.2.0.1", True), ("10.1.0.1", False), ("8.8.8.8", False)):
        literal = read(f"https://{text}/", rules).literal
        assert literal is not None
        if fine:
            guard.check("x", literal)
        else:
            with pytest.raises(BadInput, match="denied"):
                guard.check("x", literal)


def test_an_allow_list_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"10\.0\.0\.1/8.*give networks"):
        Guard(WebhookRules(allow=("10.0.0.1/8",)), no_names)
