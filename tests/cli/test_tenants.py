"""`postroad tenant`: create, list, show, limits and remove, as people type them."""

import pytest

from tests.cli.running import data, postroad


@pytest.mark.usefixtures("road")
def test_a_tenant_is_created_shown_limited_and_removed() -> None:
    made = data("tenant", "create", "acme", "--description", "a customer", "--queues-max", "3")
    assert (made["limits"]["queues_max"], made["own"]) == (3, ["queues_max"])
    listed = postroad("tenant", "list").stdout
    assert "acme" in listed
    assert "queues_max 3" in listed
    assert "by its first use" in listed  # the tenant `default`
    page = data("tenant", "list", "--limit", "1")
    assert (len(page["tenants"]), page["after"]) == (1, "acme")
    rest = data("tenant", "list", "--after", page["after"])
    assert [one["name"] for one in rest["tenants"]] == ["default"]
    told = postroad("tenant", "limits", "acme", "--queues-max", "none", "--lanes-max", "1000")
    assert told.stdout == "acme from now on: queues_max 1,000,000, lanes_max 1,000\n"
    shown = postroad("tenant", "show", "acme").stdout
    assert "1,000 (its own)" in shown
    sent = data("send", "https://1.1.1.1/hook", "1", "--delay", "1h", "--tenant", "acme")
    assert data("tenant", "show", "acme")["counts"]["waiting"] == 1
    refused = postroad("tenant", "remove", "acme", "--yes")
    assert (refused.exit_code, "1 messages that wait" in refused.stderr) == (1, True)
    asked = postroad("tenant", "remove", "acme", "--force", given="n\n")
    assert (asked.exit_code, "waiting 1" in asked.stderr) == (2, True)
    assert data("message", "show", sent["id"], "--tenant", "acme")["state"] == "waiting"
    removed = data("tenant", "remove", "acme", "--force", "--yes")
    assert removed["erased"]["tenant"] == 1
    gone = postroad("tenant", "show", "acme")
    assert (gone.exit_code, "there is no tenant 'acme'" in gone.stderr) == (2, True)


@pytest.mark.usefixtures("road")
def test_a_count_that_was_not_ended_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.cli.tenants.COUNT_MAX", 2)
    monkeypatch.setattr("postroad.verbs.tenants.COUNT_MAX", 2)
    for _ in range(3):
        _ = data("send", "https://1.1.1.1/hook", "1", "--delay", "1h")
    assert "2 or more" in postroad("tenant", "show", "default").stdout


@pytest.mark.usefixtures("road")
def test_a_limit_that_is_none_is_refused() -> None:
    for words in (("--queues-max", "many"), ("--queues-max", "9" * 30), ()):
        said = postroad("tenant", "limits", "default", *words)
        assert said.exit_code == 2, said.output
    assert data("tenant", "show", "default")["own"] == []
