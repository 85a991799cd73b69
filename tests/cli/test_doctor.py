"""`postroad doctor`: each part with what was found and how to mend it."""

import json
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from postroad.api import machine_checks, road_checks
from postroad.model.facts import COUNTED_MAX
from postroad.stores.sqlite.file_lock import FileLock
from tests.cli.running import UP, data, postroad, running


def states() -> dict[str, str]:
    result = postroad("doctor", "--json")
    return {each["part"]: each["state"] for each in doctor_data(result.stdout)}


def doctor_data(text: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(text)
    return found


def test_a_road_in_good_order(road: str) -> None:
    assert road
    found = data("doctor")
    assert {each["part"] for each in found} == {
        "settings", "listen", "port", "SQLite", "disk", "store", "schema", "clock", "notifications",
        "workers", "circuits", "dead set", "tokens",
    }  # fmt: skip
    assert {each["state"] for each in found} == {"ok"}
    assert "how to fix it" in postroad("doctor").stdout


def test_a_road_that_runs_is_asked(folder: Path) -> None:
    with running(folder, *UP):
        found = {each["part"]: each["found"] for each in data("doctor")}
        assert "engine ok" in found["server"]
        assert found["workers"].startswith("1 alive: process ")


def test_the_port_that_a_flag_has_named_is_told(folder: Path) -> None:
    """It told of the port of the settings, on which nobody listened."""
    with running(folder, *UP) as (_, note):
        found = {each["part"]: each["found"] for each in data("doctor")}
        listen = note.url.removeprefix("http://")
        assert found["listen"].startswith(f"{listen},")
        assert found["port"].startswith(listen.rpartition(":")[2])


def test_a_server_that_is_starting_is_waited_for_and_not_stopped(road: str) -> None:
    """Its process has the file, and answers nothing yet."""
    lock = FileLock(Path(road.removeprefix("sqlite:///")))
    lock.take()
    try:
        found = {each["part"]: each for each in data("doctor")}
    finally:
        lock.drop()
    assert (found["server"]["state"], "not ready yet" in found["server"]["found"]) == ("warn", True)
    assert "ask again in a moment" in found["server"]["mend"]
    assert "stop that one" not in str(found)


def test_a_server_that_is_named_is_asked_and_not_this_machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no road, doctor spoke of that and did not ask the server."""
    with running(folder, *UP) as (_, note):
        token = data("token", "make", "reader", "--role", "read", "--tenant", "acme")["secret"]
        monkeypatch.setenv("POSTROAD_TOKEN", token)
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        found = {each["part"]: each for each in data("doctor", "--server", note.url)}
        assert found.keys() == {
            "settings", "server", "clock", "workers", "circuits", "dead set", "tokens"
        }  # fmt: skip
        assert {each["state"] for each in found.values()} == {"ok"}
        assert "not checked: workers serve all tenants" in found["workers"]["found"]
        assert "not checked: this needs a token with the scope admin" in found["tokens"]["found"]
    away = postroad("doctor", "--server", note.url)
    assert away.exit_code == 1
    assert "is it running there?" in away.stdout


def test_a_road_on_a_broker_is_not_made_by_looking(folder: Path) -> None:
    before = set(folder.iterdir())
    dsn = "amqp://me:hunter2@127.0.0.1:1/"
    found = postroad("doctor", "--dsn", dsn)
    assert (found.exit_code, "amqp://127.0.0.1:1/ cannot be reached" in found.stdout) == (1, True)
    asked = postroad("stats", "--dsn", dsn)
    assert (asked.exit_code, "there is no road at" in asked.stderr) == (2, True), asked.output
    assert "hunter2" not in found.output + asked.output
    assert set(folder.iterdir()) == before


def test_what_is_wrong_is_named_with_how_to_mend_it(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(road.removeprefix("sqlite:///"))
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    monkeypatch.setattr(machine_checks, "DISK_FLOOR_BYTES", 1 << 62)
    monkeypatch.setenv("POSTROAD_LISTEN", "0.0.0.0:8600")
    result = postroad("doctor", "--json")
    assert result.exit_code == 1
    found = {each["part"]: each for each in doctor_data(result.stdout)}
    assert [found[part]["state"] for part in ("SQLite", "disk", "listen")] == [
        "fail",
        "fail",
        "warn",
    ]
    assert all(each["mend"] for each in found.values() if each["state"] != "ok")
    monkeypatch.setenv("POSTROAD_LISTEN", "nowhere")
    assert states() == {"settings": "fail"}
    monkeypatch.delenv("POSTROAD_LISTEN")
    path.write_bytes(b"not a database" * 1000)
    assert states()["store"] == "fail"
    monkeypatch.setenv("POSTROAD_DSN", "sqlite:///nothing/here.db")
    assert states()["store"] == "warn"
    monkeypatch.setenv("POSTROAD_DSN", "postgresql://me:hunter2@127.0.0.1:1/x")
    broken = postroad("doctor")
    assert broken.exit_code == 1
    assert "hunter2" not in broken.output


def test_a_port_that_is_in_use_is_told_with_its_process(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert road
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("POSTROAD_LISTEN", f"127.0.0.1:{port}")
        monkeypatch.setattr(machine_checks, "ANSWER_S", 0.05)
        (found,) = [each for each in data("doctor") if each["part"] == "port"]
        assert found["state"] == "warn"
        assert f"{port} is in use by process {os.getpid()} (" in found["found"]
        assert "--listen" in found["mend"]
        assert f"already in use by process {os.getpid()}" in postroad("api").stderr


def test_a_port_that_a_server_of_ours_has_is_no_trouble(folder: Path) -> None:
    with running(folder, *UP) as (_, note):
        listen = note.url.removeprefix("http://")
        found = {each["part"]: each for each in data("doctor", "--set", f"listen={listen}")}
        assert found["port"]["state"] == "ok"
        assert "a Postroad server" in found["port"]["found"]


@pytest.mark.parametrize(("days", "state"), [(300, "ok"), (10, "warn"), (-1, "fail")])
def test_a_certificate_that_ends_soon_is_told(
    road: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, state: str
) -> None:
    assert road
    cert, key = certificate_files(tmp_path, days)
    monkeypatch.setenv("POSTROAD_TLS_CERT_FILE", str(cert))
    monkeypatch.setenv("POSTROAD_TLS_KEY_FILE", str(key))
    (found,) = [each for each in doctor_data(postroad("doctor", "--json").stdout)
                if each["part"] == "certificate"]  # fmt: skip
    assert found["state"] == state
    assert bool(found["mend"]) == (state != "ok")


def certificate_files(folder: Path, days: int) -> tuple[Path, Path]:
    """A certificate that ends in so many days, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1)
    made = made.not_valid_before(now - timedelta(days=400)).not_valid_after(
        now + timedelta(days=days)
    )
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return cert, secret


def test_tokens_that_end_soon_are_told(road: str) -> None:
    assert road
    _ = data("token", "make", "weekly", "--lasts", "7d")
    (found,) = [each for each in data("doctor") if each["part"] == "tokens"]
    assert (found["state"], "'weekly' ends at" in found["found"]) == ("warn", True)


def test_messages_that_nobody_serves_circuits_and_deaths_are_told() -> None:
    now_ms = 1_800_000_000_000
    stats = {"now_ms": now_ms, "oldest_due_ms": now_ms - 300_000, "open_circuits": 1,
             "dead": {"exhausted": 40}}  # fmt: skip
    worker = {"host": "h", "pid": 7, "heard_at_ms": now_ms - 90_000, "state": "lost"}
    opened = {"opened": 2, "reason": "connection refused"}
    lanes = [{"circuit": opened, "server": "https://shop.example"}]
    found = road_checks.check_workers({"workers": [worker]}, stats)
    assert found.state == "warn"
    lost = "lost in the last hour: process 7 on h"
    assert found.found == f"none is alive; {lost}; messages are due for 5 min"
    idle = worker | {"pid": 8, "state": "idle"}
    found = road_checks.check_workers({"workers": [worker, idle]}, stats)
    assert (found.state, found.found) == ("warn", f"1 alive: process 8 on h; {lost}")
    long_ago = worker | {"heard_at_ms": now_ms - 4_000_000}
    found = road_checks.check_workers({"workers": [long_ago, idle]}, stats)
    assert (found.state, found.found) == ("ok", "1 alive: process 8 on h")
    circuits = road_checks.check_circuits(lanes, stats)
    assert (circuits.state, "shop.example (connection refused)" in circuits.found) == ("warn", True)
    many = road_checks.check_circuits(lanes * 5, stats | {"open_circuits": 900})
    assert many.found.endswith("and 897 more")
    bounded = road_checks.check_circuits(lanes * 5, stats | {"open_circuits": 900}, 900)
    assert bounded.found.startswith("900 or more open: ")
    assert bounded.found.endswith(") and more")
    assert road_checks.check_dead(stats, 5, more=False).state == "ok"
    dead = {"dead": {"exhausted": COUNTED_MAX, "rejected": 5}}
    bounded = road_checks.check_dead(stats | dead, 5, more=False, most=COUNTED_MAX)
    assert bounded.found == "10005 or more messages, 5 of them in the last hour"
    whole = road_checks.check_dead(stats | dead, 5, more=False)
    assert whole.found == "10005 messages, 5 of them in the last hour"
    grown = road_checks.check_dead(stats, 40, more=False)
    assert (grown.state, "40 of them in the last hour (40 exhausted)" in grown.found) == (
        "warn",
        True,
    )
