"""The server as its operator sees it: settings, store and findings, without secrets."""

from pathlib import Path

import pytest

from postroad.api import machine_checks
from postroad.config import Settings, names
from postroad.model.hubs import KnownHub
from postroad.model.mail_settings import MailSettings
from postroad.model.webhook import WebhookRules
from tests.api.stand import Stand

SECRET = "hush-hush-hush-hush-hush-hush"
SETTINGS = Settings(
    dsn=f"postgresql://ada:{SECRET}@127.0.0.1/road",
    hub_token=SECRET,
    hub_create_token=SECRET,
    hubs=(KnownHub("wss://hub.example.com:1", SECRET),),
    mail=MailSettings(relay=f"smtp://ada:{SECRET}@relay.example.com:25"),
    webhooks=WebhookRules(
        proxies=(
            f"http://ada:{SECRET}@proxy.example.com:1",
            f"shop=http://ada:{SECRET}@proxy.example.com:1",
        ),
    ),
)


async def test_settings_come_with_their_sources_and_without_secrets(tmp_path: Path) -> None:
    async with Stand(tmp_path, SETTINGS, f"sqlite:///{tmp_path}/road.db") as stand:
        sources = {"listen": "flag", "mail.relay": "/etc/postroad.toml"}
        stand.context.sources = dict.fromkeys(names(), "default") | sources
        answer = await stand.say("GET", "/v1/system")
        assert answer.status == 200
        assert SECRET.encode() not in answer.content
        found = {one["name"]: one for one in answer.json()["settings"]}
        assert set(found) == set(names())
        told = {name: one["source"] for name, one in found.items()}
        assert {name: told[name] for name in sources} == sources
        assert told["keys_file"] == "default"
        assert found["listen"]["value"] == "127.0.0.1:8600"


async def test_the_store_and_what_is_wrong_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_checks, "DISK_FLOOR_BYTES", 1 << 62)
    async with Stand(tmp_path) as stand:
        await stand.send("good")
        said = (await stand.say("GET", "/v1/system")).json()
        facts = said["store"]["facts"]
        assert facts["product"].startswith("SQLite 3.")
        assert facts["layout"] >= 1
        assert facts["size_bytes"] >= 4_096
        assert said["store"]["oldest_due_ms"] is not None
        assert said["settings"][0]["source"] == "program"
        found = {one["part"]: one for one in said["findings"]}
        assert {"listen", "SQLite", "workers", "circuits", "dead set", "tokens"} <= set(found)
        assert found["disk"]["state"] == "fail"
        assert "larger disk" in found["disk"]["mend"]


async def test_only_the_operator_sees_the_server(tmp_path: Path) -> None:
    async with Stand(tmp_path) as stand:
        one = await stand.road.tokens.make("one tenant", tenant="shop")
        low = await stand.road.tokens.make("reader", tenant="*", role="read")
        for token in (one, low):
            assert (await stand.say("GET", "/v1/system", token=token.secret)).status == 403


async def test_a_login_file_that_others_may_read_is_found(tmp_path: Path) -> None:
    file = tmp_path / "login.toml"
    file.write_text(
        '[openid]\nissuer = "https://id.example"\nclient_id = "x"\nclient_secret = "y"\n'
        '[[members]]\nclaim = "a"\nvalue = "b"\nrole = "read"\n'
    )
    settings = Settings(login_file=str(file))
    for mode, state in ((0o644, "warn"), (0o600, "ok")):
        file.chmod(mode)
        (found,) = machine_checks.check_login_file(settings)
        assert found.state == state
    file.write_text("openid = ")
    (found,) = machine_checks.check_login_file(settings)
    assert found.state == "fail"
