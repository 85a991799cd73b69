"""The scrape configuration, the rules and the dashboard's queries, by a Prometheus that scrapes a road."""

import json
import re
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import PROGRAM
from tests.deploy.started import REACH, ask, send_and_wait, started
from tests.servers.prometheus import Prometheus, prometheus
from tests.servers.receiver import Receiver

DEPLOY = Path(__file__).parents[2] / "deploy"
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
GRAFANAS_OWN = {"__rate_interval": "1m"}
BROKER = "postroad_rabbitmq"
"""The road of this test has none: this alone may have no value."""


def configured(folder: Path, port: int) -> Path:
    """The configuration, but for names that only containers have, and its patience."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    found["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    found["rule_files"] = [str(DEPLOY / "prometheus" / name) for name in found["rule_files"]]
    (job,) = found["scrape_configs"]
    assert job.pop("dns_sd_configs")
    job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
    made = folder / "prometheus.yml"
    made.write_text(yaml.safe_dump(found))
    return made


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "grafana" / "postroad.json").read_text())
    return found


def queries() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def values_of(server: Prometheus) -> dict[str, str]:
    """What Grafana would put for each variable, with all of them chosen."""
    found = dict(GRAFANAS_OWN)
    for each in dashboard()["templating"]["list"]:
        if each["type"] == "query":
            asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", each["query"]["query"])
            assert asked, each["query"]
            values = server.asks(f"label/{asked[2]}/values", **{"match[]": asked[1]})
            assert values == ["postroad"]
            found[each["name"]] = each["allValue"]
        else:
            found[each["name"]] = ""
    return found


def filled(text: str, values: dict[str, str]) -> str:
    return VARIABLE.sub(lambda name: values[name[1] or name[2]], text)


def test_every_variable_of_the_dashboard_is_declared_and_used() -> None:
    declared = {each["name"] for each in dashboard()["templating"]["list"]}
    text = json.dumps(dashboard())
    used = {one or other for one, other in VARIABLE.findall(text)} - {"__all"}
    assert used == declared | GRAFANAS_OWN.keys()
    assert all("$job" in query for query in queries())


@pytest.mark.wide
def test_a_process_of_the_composition_is_scraped_by_the_names_that_it_answers_to(
    tmp_path: Path,
) -> None:
    """`up` counts every other answer than 200 as a process that is down."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    name = "POSTROAD_ALLOWED_HOSTS"
    env = {name: services["api"]["environment"][name], "HOME": str(tmp_path)}
    with started([*PROGRAM, "up"], env, tmp_path) as road:
        seen = {}
        for host in ("api:8600", "hub:8600", "road.example.com", "evil.example:8600"):
            line = HTTPConnection("127.0.0.1", road.port, timeout=60)
            line.request("GET", "/metrics", headers={"host": host})
            seen[host] = line.getresponse().status
            line.close()
    assert [*seen.values()][:3] == [200] * 3
    assert seen["evil.example:8600"] >= 400


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_prometheus_takes_all_that_a_road_tells_and_all_that_is_asked_of_it(tmp_path: Path) -> None:
    """Every panel has a value, every rule is evaluated, and a quiet road alerts nobody."""
    command, env = [*PROGRAM, "up", "--app", "tasks:road"], {**REACH, "HOME": str(tmp_path)}
    (tmp_path / "tasks.py").write_text("from postroad import Postroad\nroad = Postroad()\n")
    with Receiver() as receiver, started(command, env, tmp_path) as road:
        make = [*PROGRAM, "token", "make", "ops", "--everywhere", "--json"]
        made = subprocess.run(make, cwd=tmp_path, capture_output=True, check=True)
        token = json.loads(made.stdout)["secret"]
        with prometheus(tmp_path, configured(tmp_path, road.port)) as server:
            sends = 0
            later = {"queue": receiver.url, "body": "tomorrow", "delay": 86_400}
            ask(road.port, token, "POST", "/v1/messages", later)

            def shown() -> list[str]:
                """Queries that have no value yet; something happens meanwhile."""
                nonlocal sends
                sends += 1
                send_and_wait(road.port, token, [receiver.url], f"{sends}")
                ask(road.port, token, "POST", "/v1/events", {"type": "order.paid", "body": sends})
                values = values_of(server)
                asked = [filled(query, values) for query in queries()]
                return [each for each in asked if not server.asks("query", query=each)["result"]]

            server.waits(lambda: bool(server.asks("query", query="up")["result"]), "a scrape")
            server.waits(lambda: all(BROKER in each for each in shown()), "values of all panels")
            assert [each["health"] for each in server.asks("targets")["activeTargets"]] == ["up"]
            (group,) = server.asks("rules")["groups"]
            rules = group["rules"]
            assert {(each["health"], each["state"]) for each in rules} == {("ok", "inactive")}
            (told,) = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
            assert [each["name"] for each in rules] == [each["alert"] for each in told["rules"]]
