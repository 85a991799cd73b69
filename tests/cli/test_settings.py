"""Settings: flags, then environment, then file; every bad one is named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from postroad import Postroad, config, sync
from postroad.config import Settings, load, names, unknown, variable
from postroad.model.errors import BadSetting
from postroad.model.hubs import KnownHub
from postroad.model.limits import Limits
from postroad.model.webhook import WebhookRules
from tests.cli.running import UP, WAIT_S, data, postroad, running

BASE = Settings()


def test_flags_come_before_environment_before_file(tmp_path: Path) -> None:
    file = tmp_path / "postroad.toml"
    file.write_text(
        'listen = "127.0.0.1:1"\nlog_level = "error"\nbody_bytes_max = 7\n[limits]\ndrain_s = 3\nin_flight_max = 4\n'
    )
    environ = {"POSTROAD_LISTEN": "127.0.0.1:2", "POSTROAD_LIMITS_DRAIN_S": "5"}
    loaded = load({"limits.drain_s": "6"}, environ, file, BASE)
    assert loaded.settings.listen == "127.0.0.1:2"
    assert loaded.settings.log_level == "error"
    assert (loaded.settings.limits.drain_s, loaded.settings.limits.in_flight_max) == (6, 4)
    sources = {name: said for name, said in loaded.sources.items() if said != "default"}
    assert sources == {
        "listen": "environment",
        "log_level": str(file),
        "body_bytes_max": str(file),
        "limits.drain_s": "flag",
        "limits.in_flight_max": str(file),
    }


def test_there_are_few_settings_and_all_can_be_set_everywhere() -> None:
    assert len(names()) <= 40
    assert set(names()) == set(load({}, {}, None, BASE).sources)
    lists = load(
        {"origins": "https://a, https://b"}, {"POSTROAD_WEBHOOKS_PORTS": "1,2"}, None, BASE
    )
    assert lists.settings.origins == ("https://a", "https://b")
    assert lists.settings.webhooks.ports == (1, 2)
    assert variable("limits.drain_s") == "POSTROAD_LIMITS_DRAIN_S"
    assert (
        structs.asdict(load({"body_bytes_max": "1_000"}, {}, None, BASE).settings)["body_bytes_max"]
        == 1_000
    )


def test_an_empty_variable_means_empty_and_is_refused_where_that_makes_no_sense() -> None:
    assert WebhookRules().ports
    given = {"POSTROAD_WEBHOOKS_PORTS": "", "POSTROAD_HUB_TOKEN": "", "POSTROAD_HUBS": ""}
    loaded = load({}, given, None, structs.replace(BASE, hub_token="x" * 24))
    assert loaded.settings.webhooks.ports == ()
    assert loaded.settings.hub_token == ""
    assert loaded.sources["webhooks.ports"] == "environment"
    for name, kind in names().items():
        if kind in (int, float, bool):
            with pytest.raises(BadSetting, match=f"{variable(name)} is empty: give a value"):
                load({}, {variable(name): ""}, None, BASE)
    for name in ("dsn", "listen", "hub_listen", "log_level", "log_format"):
        with pytest.raises(BadSetting, match=f"{name}"):
            load({}, {variable(name): ""}, None, BASE)


BAD = {
    "listn": ("127.0.0.1:1", "did you mean 'listen'?"),
    "qqq": ("1", "config show"),
    "limits.buffer": ("64", "there is no setting"),
    "limits.drain": ("1", "did you mean 'limits.drain_s'?"),
    "limits.dead_max": ("many", "expected `int`"),
    "limits.window": ("16", "in Python, as Limits(window=…)"),
    "tenants.queues_max": ("9", "`postroad tenant limits NAME --queues-max NUMBER`"),
    "webhooks.tenant_proxies": ("a=none", "did you mean 'webhooks.proxies'?"),
    "limits.in_flight_max": ("0", "above zero"),
    "listen": ("8600", "HOST:PORT"),
    "log_level": ("loud", "debug, info"),
    "log_format": ("xml", "text, json"),
    "limits.poll_intervals_s": ("5,60", "there is no setting"),
    "limits.drain_s": ("-1", "above zero"),
    "watchdog_s": ("inf", "or 0 for none"),
    "webhooks.ports": ("0", "above zero"),
    "hub_token": ("x" * 23, "at least 24 characters"),
    "hub_create_token": ("too short", "at least 24 characters"),
    "hubs": ("https://:secret@hub.example.com", "neither wss nor ws"),
    "tls_cert_file": ("cert.pem", "set both"),
    "limits.history_ms": ("99999999999999999999", "give at most 3"),
    "body_bytes_max": ("99999999999999999999999", "give at most 9007199254740992"),
    "dsn": ("mysql://me:secret@db/x", "mysql is not understood: use sqlite:///FILE"),
    "mail.sender": ("nonsense", "write ann@example.com"),
    "webhooks.allow": ("10.0.0.0/8 127.0.0.0/8", "several with commas"),
    "webhooks.deny": ("*", "is no network"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_setting_is_named_and_says_what_to_do(name: str) -> None:
    value, words = BAD[name]
    with pytest.raises(BadSetting) as raised:
        load({name: value}, {}, None, BASE)
    assert name in str(raised.value)
    assert words in str(raised.value)


def test_no_number_is_larger_than_every_part_can_bear() -> None:
    for name, kind in names().items():
        if kind in (int, float):
            with pytest.raises(BadSetting, match=name):
                load({name: "1" + "0" * 30}, {}, None, BASE)
        if kind is float:
            with pytest.raises(BadSetting, match=name):
                load({name: "inf"}, {}, None, BASE)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["POSTROAD_KEYS", "POSTROAD_KEYS_FILE", "POSTROAD_WEBHOOKS_ALLOW"])
def test_config_show_and_doctor_refuse_what_a_server_refuses(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "abc")
    refused = postroad("up", "--listen", "127.0.0.1:0")
    shown = postroad("config", "show")
    assert (refused.exit_code, shown.exit_code) == (2, 2)
    assert refused.stderr == shown.stderr
    (found,) = [
        each
        for each in json.loads(postroad("doctor", "--json").stdout)
        if each["part"] == "settings"
    ]
    assert found["state"] == "fail"
    assert found["found"] in refused.stderr.replace("\n", " ")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "postroad.toml"
    file.write_bytes(b"\xef\xbb\xbfbody_bytes_max = 7\n")
    assert load({}, {}, file, BASE).settings.body_bytes_max == 7


SECRET = 5_318_008
IN_PYTHON: dict[str, tuple[Any, str]] = {
    "log_level": (Settings(log_level="loud"), "debug, info"),
    "body_bytes_max": (Settings(body_bytes_max="1"), "expected `int`, got `str`"),  # type: ignore[arg-type]
    "intake_max": (Settings(intake_max=True), "expected `int`, got `bool`"),
    "watchdog_s": (Settings(watchdog_s=float("nan")), "above zero"),
    "hub_listen": (Settings(hub_listen="8601"), "HOST:PORT"),
    "hub_token": (Settings(hub_token=SECRET), "expected `str`, got `int`"),  # type: ignore[arg-type]
    "dsn": (Settings(dsn=[SECRET]), "expected `str`"),  # type: ignore[arg-type]
    "origins: ": (Settings(origins=("*",)), "give it as https://app.example.com"),
    "origins": (Settings(origins="https://a"), "expected `array`"),  # type: ignore[arg-type]
    "limits.window": (Settings(limits=Limits(window=-1)), "above zero"),
    "limits.drain_s": (Settings(limits=Limits(drain_s="1")), "expected `float`"),  # type: ignore[arg-type]
    "limits.poll_intervals_s": (Settings(limits=Limits(poll_intervals_s=())), "each retry level"),
    "limits.linger_ms": (Settings(limits=Limits(linger_ms=-1)), "above zero"),
    "limits.stale_ms": (Settings(limits=Limits(stale_ms=30_000)), "less than limits.lease_ms"),
    "limits": (Settings(limits={"window": 1}), "give Limits(…), not dict"),  # type: ignore[arg-type]
    "webhooks.ports": (Settings(webhooks=WebhookRules(ports=("443",))), "expected `int`"),  # type: ignore[arg-type]
    "settings": ({"window": 1}, "give Settings(…), not dict"),
    "hubs": (Settings(hubs=({"url": SECRET},)), "give KnownHub(…), not dict"),  # type: ignore[arg-type]
    "hubs[0].token": (Settings(hubs=(KnownHub("wss://h", SECRET),)), "expected `str`"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", IN_PYTHON)
@pytest.mark.parametrize("road", [Postroad, sync.Postroad])
def test_a_bad_setting_in_python_is_named_where_the_road_is_made(
    name: str, road: type[Postroad], tmp_path: Path
) -> None:
    settings, words = IN_PYTHON[name]
    with pytest.raises(BadSetting) as raised:
        road(f"sqlite:///{tmp_path}/road.db", settings=settings)
    assert str(raised.value).startswith(name)
    assert words in str(raised.value)
    assert str(SECRET) not in str(raised.value)
    assert not (tmp_path / "road.db").exists()


def test_a_token_that_is_no_text_is_not_shown(folder: Path) -> None:
    (folder / "postroad.toml").write_text(f"hub_token = {SECRET}")
    said = postroad("config", "show")
    assert said.exit_code == 2
    assert "hub_token: expected `str`" in said.stderr
    assert str(SECRET) not in said.stderr


HUBS = {
    "wss://:to%40ken@hub.example.com": KnownHub("wss://hub.example.com:443", "to@ken"),
    "ws://[::1]:8601": KnownHub("ws://[::1]:8601"),
    "wss://:t@h:1?allow=10.0.0.0/8&allow=10.1.0.0/16&tenants=*&ca_file=/ca.pem": KnownHub(
        "wss://h:1", "t", tenants=("*",), allow=("10.0.0.0/8", "10.1.0.0/16"), ca_file="/ca.pem"
    ),
}


def test_hubs_are_named_by_lines_and_by_tables(tmp_path: Path) -> None:
    lines = load({}, {"POSTROAD_HUBS": ", ".join(HUBS)}, None, BASE)
    assert lines.settings.hubs == tuple(HUBS.values())
    file = tmp_path / "postroad.toml"
    file.write_text('[[hubs]]\nurl = "wss://h:1"\ntoken = "t"\nmailbox_tokens = {box = "b"}\n')
    (hub,) = load({}, {}, file, BASE).settings.hubs
    assert (hub.server, hub.token, hub.mailbox_tokens) == ("h:1", "t", {"box": "b"})


@pytest.mark.parametrize(
    "line",
    [
        "wss://MINE@h:1",
        "https://:MINE@h:1",
        "wss://:MINE@h:1/path",
        "wss://:MINE@h:1?colour=red",
        "wss://:MINE@h:99999",
        "wss://:MI/NE@h:1",
        "wss://:MINE@[::",
        "wss://:MINE@a b",
        "wss://:MINE@",
        "wss://:MINE@h:1, wss://:MINE@h:1",
        "MINE",
    ],
)
def test_a_bad_hub_is_refused_and_its_token_not_shown(line: str) -> None:
    with pytest.raises(BadSetting, match="hubs") as raised:
        load({}, {"POSTROAD_HUBS": line}, None, BASE)
    assert "MI" not in str(raised.value)


def test_tokens_of_hubs_are_not_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROAD_HUBS", "wss://:MINE@hub.example.com:8601")
    said = postroad("config", "show", "--json")
    assert json.loads(said.stdout)["hubs"] == ["wss://hub.example.com:8601"]
    assert folder.exists()
    assert "MINE" not in postroad("config", "show").output


def test_a_bad_file_is_named(folder: Path) -> None:
    (folder / "postroad.toml").write_text("listen = ")
    broken = postroad("config", "show")
    assert broken.exit_code == 2
    assert "postroad.toml is not TOML" in broken.stderr
    missing = postroad("config", "show", "--config", "nowhere.toml")
    assert missing.exit_code == 2
    assert "nowhere.toml" in missing.stderr
    (folder / "postroad.toml").write_text("limits = 3")
    assert "there is no setting 'limits'" in postroad("config", "show").stderr


def test_config_show_says_where_each_value_comes_from_and_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTROAD_DSN", "postgresql://me:hunter2@db/road")
    said = data("config", "show", "--sources")
    assert said["dsn"] == {"value": "postgresql://me:…@db/road", "source": "environment"}
    assert said["listen"]["source"] == "default"
    assert "hunter2" not in postroad("config", "show").output
    assert set(said) == set(names())


def test_config_show_writes_values_as_the_environment_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And not as Python does: `()`, `[]`, `False`."""
    rows = dict(
        line.partition("\t")[::2]
        for line in postroad("config", "show", "--plain").stdout.splitlines()
    )
    assert (rows["webhooks.ports"], rows["origins"], rows["webhooks.http"]) == (
        "443, 8443",
        "",
        "false",
    )
    for name in ("webhooks.ports", "webhooks.http", "limits.drain_s"):
        monkeypatch.setenv(f"POSTROAD_{name.replace('.', '_').upper()}", rows[name])
    assert postroad("config", "show").exit_code == 0


def test_a_mistyped_variable_is_named_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTROAD_LISTN", "0.0.0.0:hunter2")
    monkeypatch.setenv("POSTROAD_QQQ", "1")
    monkeypatch.setenv("POSTROAD_WINDOW", "1")
    shown = postroad("config", "show", "--json")
    assert shown.exit_code == 0
    assert shown.stderr.splitlines() == [
        "POSTROAD_LISTN is not a setting: did you mean POSTROAD_LISTEN?",
        "POSTROAD_QQQ is not a setting: see `postroad config show` for the settings",
        "POSTROAD_WINDOW is not a setting: a program gives it in Python, as Settings(window=…)",
    ]
    told = [each for each in data("doctor") if each["part"] == "environment"]
    assert [(each["state"], each["mend"][:25]) for each in told] == [
        ("warn", "did you mean POSTROAD_LIS"),
        ("warn", "see `postroad config show"),
        ("warn", "a program gives it in Pyt"),
    ]
    assert "hunter2" not in shown.stderr + str(told)
    monkeypatch.setenv("POSTROAD_LOG_LEVEL", "loud")
    parts = [each["part"] for each in json.loads(postroad("doctor", "--json").stdout)]
    assert parts == [*["environment"] * 3, "settings"]


@pytest.mark.wide
def test_a_server_warns_of_a_mistyped_variable_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_WEBHOOKS_PORT", "443")
    with running(folder, *UP) as (process, _):
        process.terminate()
        told = process.communicate(timeout=WAIT_S)[1]
    (line,) = [line for line in told.splitlines() if "POSTROAD_" in line]
    assert "level=warning" in line
    assert "did you mean POSTROAD_WEBHOOKS_PORTS?" in line


def test_variables_that_are_read_are_not_called_mistyped() -> None:
    """Every one that the sources name, and those that Kubernetes sets for a service."""
    sources = Path(config.__file__).parent.rglob("*.py")
    read = {
        name for file in sources for name in re.findall(r"POSTROAD_[A-Z_]+[A-Z]", file.read_text())
    }
    assert {"POSTROAD_KEYS", "POSTROAD_SECRET", "POSTROAD_TENANT"} <= read
    ours = [*read, *map(variable, names()), "POSTROAD_TEST_POSTGRES"]
    theirs = ("SERVICE_HOST", "PORT", "PORT_8600_TCP_ADDR", "API_SERVICE_PORT_HTTP")
    environ = dict.fromkeys([*ours, *(f"POSTROAD_{each}" for each in theirs), "HOME"], "1")
    assert unknown(environ) == {}


def test_with_nothing_configured_commands_find_the_road_that_is_there(folder: Path) -> None:
    assert data("config", "show")["dsn"] == "sqlite:///road/road.db"
    (folder / "road.db").touch()
    assert data("config", "show")["dsn"] == "sqlite:///road.db"
    (folder / "road").mkdir()
    (folder / "road" / "road.db").touch()
    assert data("config", "show")["dsn"] == "sqlite:///road/road.db"
