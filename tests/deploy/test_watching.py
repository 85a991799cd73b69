"""The dashboard and the alert rules speak of metrics, labels, values and commands that exist."""

import json
import re
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from postroad.api.hosts import Hosts
from postroad.cli.root import app
from postroad.config import Settings, load
from postroad.hub.status import HubStatus
from postroad.model.broker import BrokerFacts
from postroad.model.outcome import Kind
from postroad.model.rollup import WorkerState
from postroad.model.states import State
from postroad.observe.names import METRICS, Metric
from tests.servers.prometheus import program

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
NGINX = DEPLOY / "nginx" / "postroad.conf"
USED = re.compile(r"\b(up|postroad_\w+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds itself."""
VALUES: dict[tuple[str, str], set[str]] = {
    ("postroad_messages", "state"): set(State),
    ("postroad_oldest_due_age_seconds", "state"): set(State),
    ("postroad_fleet_workers", "state"): set(WorkerState),
    ("postroad_fleet_tries_per_second", "outcome"): set(Kind),
    ("postroad_hub", "what"): set(HubStatus.__struct_fields__),
    ("postroad_rabbitmq", "what"): set(BrokerFacts.__struct_fields__),
}


def exposed() -> dict[str, Metric]:
    """Every name that a scrape gives, with its metric."""
    found: dict[str, Metric] = {}
    for metric in METRICS:
        parts = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
        found |= {metric.name + part: metric for part in parts}
    return found


def labels_of(name: str) -> set[str]:
    more = {"le"} if name.endswith("_bucket") else set()
    return {*exposed()[name].labels, *SCRAPED, *more}


def faults_in(expression: str) -> Iterator[str]:
    """What is not there of what an expression names."""
    known = exposed()
    together: set[str] = set()
    for name, matchers in USED.findall(expression):
        if name != "up" and name not in known:
            yield f"there is no metric {name}"
            continue
        own = SCRAPED if name == "up" else labels_of(name)
        together |= own
        for label, how, value in MATCHER.findall(matchers):
            if label not in own:
                yield f"{name} has no label {label}"
            allowed = VALUES.get((name, label))
            wrong = set(value.split("|") if "~" in how else [value]) - (allowed or set())
            if allowed is not None and wrong:
                yield f"{name} has no {label} {wrong}"
    for label in {each.strip() for each in ",".join(GROUPED.findall(expression)).split(",")} - {""}:
        if label not in together:
            yield f"nothing here has the label {label}"


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "grafana" / "postroad.json").read_text())
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_panels_and_rules_name_metrics_labels_and_values_that_exist() -> None:
    targets = [target for panel in dashboard()["panels"] for target in panel["targets"]]
    told = [target["expr"] for target in targets] + [rule["expr"] for rule in rules()]
    assert len(told) > 30
    assert [fault for each in told for fault in faults_in(each)] == []
    legends = {
        label
        for target in targets
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
        if label not in GROUPED.search(target["expr"])[1]  # type: ignore[index]
    }
    assert legends == set()


def test_every_metric_but_the_release_is_shown_or_watched() -> None:
    text = (DEPLOY / "grafana" / "postroad.json").read_text() + ALERTS.read_text()
    assert [each.name for each in METRICS if each.name not in text] == ["postroad_lanes_owned"]


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("postroad_deed > 1", "there is no metric postroad_deed"),
        ("postroad_try_seconds > 1", "there is no metric postroad_try_seconds"),
        ('postroad_dead{why="x"}', "postroad_dead has no label why"),
        ("sum by (queue) (postroad_dead)", "nothing here has the label queue"),
        ('postroad_hub{what=~"clients|cats"}', "postroad_hub has no what {'cats'}"),
    ],
)
def test_a_fault_is_found(expression: str, fault: str) -> None:
    assert list(faults_in(expression)) == [fault]


def test_panels_do_not_lie_on_each_other() -> None:
    cells = [
        (x, y)
        for panel in dashboard()["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_every_alert_says_what_to_do_by_commands_that_exist() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        told = rule["annotations"]
        assert set(told) == {"summary", "action"}
        named = re.findall(r"`postroad ([^`]+)`", told["action"])
        assert [words for words in named if not is_typed(words.split())] == []


def is_typed(words: list[str]) -> bool:
    """Whether a command takes the words, and calls what stands for something as they do."""
    command: Any = app.whole()
    said = list(words)
    while isinstance(command, click.Group):
        command = command.commands.get(said.pop(0) if said else "")
    if command is None:
        return False
    try:
        command.make_context(command.name, list(said))
    except click.ClickException:
        return False
    own = {str(each.name).upper() for each in command.params}
    return {word for word in said if word.isupper()} <= own


def test_an_action_that_cannot_be_typed_is_noticed() -> None:
    """A queue is explained, and a message by another command: both take one word."""
    assert is_typed(["message", "explain", "ID"])
    for wrong in ("explain ID", "message explain", "message settle ID", "messages explain"):
        assert not is_typed(wrong.split()), wrong


def test_every_process_of_the_composition_is_scraped_also_those_that_share_a_name() -> None:
    (job,) = yaml.safe_load((ALERTS.parent / "prometheus.yml").read_text())["scrape_configs"]
    one = {place for each in job["static_configs"] for place in each["targets"]}
    many = {(name, each["port"]) for each in job["dns_sd_configs"] for name in each["names"]}
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    ours = {name: each for name, each in services.items() if "command" in each}
    copied = {n for n, each in ours.items() if each.get("deploy", {}).get("replicas", 1) > 1}
    assert many == {(name, 8600) for name in copied}
    assert one == {f"{name}:8600" for name in ours.keys() - copied}


def test_every_name_that_is_scraped_or_proxied_is_answered() -> None:
    """Prometheus calls processes by their names; one that refuses its name counts as down."""
    (job,) = yaml.safe_load((ALERTS.parent / "prometheus.yml").read_text())["scrape_configs"]
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    proxied = re.findall(r"^    server_name (\S+);$", NGINX.read_text(), re.MULTILINE)
    called = {place for each in job["static_configs"] for place in each["targets"]}
    assert called >= {"api:8600", "hub:8600"}
    for name in ("api", "hub", "worker"):
        given = settings_of(services[name]["environment"])
        hosts = Hosts(given.allowed_hosts, "0.0.0.0")
        assert hosts.allows(proxied[0])
        assert hosts.allows(f"{name}:8600") or f"{name}:8600" not in called
        assert not hosts.allows("evil.example")


def test_the_proxy_of_the_machine_is_believed_by_containers_and_reaches_all_that_it_serves() -> (
    None
):
    """Through a published port a container sees the gateway of its network."""
    all_of_it = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    (config,) = all_of_it["networks"]["default"]["ipam"]["config"]
    gateway = ip_address(config["gateway"])
    assert gateway in ip_network(config["subnet"])
    services = all_of_it["services"]
    upstreams = re.findall(r"server (127\.0\.0\.1:\d+);", NGINX.read_text())
    published = [port for each in services.values() for port in each.get("ports", ())]
    assert [port.rpartition(":")[0] for port in published] == upstreams
    for name in ("api", "hub"):
        assert settings_of(services[name]["environment"]).trusted_proxies == (str(gateway),)


def settings_of(environment: dict[str, str]) -> Settings:
    given = {name: text for name, text in environment.items() if "${" not in text}
    return load({}, given, None, Settings()).settings


@pytest.mark.wide
@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
        ("check", "config", "prometheus.yml"),
    ],
)
def test_promtool_takes_the_rules_and_their_tests(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [program("promtool"), *words],
        cwd=ALERTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
