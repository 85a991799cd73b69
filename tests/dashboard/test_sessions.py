"""Who may look: login links, sessions, and forms that come from elsewhere."""

import asyncio
from urllib.parse import quote

import pytest

from postroad.model.errors import Unauthorized, UnknownToken
from postroad.verbs.sessions import LOGIN_S, SESSION_S
from tests.dashboard.stand import HOST, PageStand


async def test_a_browser_without_a_session_is_led_to_the_login_page(stand: PageStand) -> None:
    for path in ("/", "/queues", "/live?page=/"):
        answer = await stand.get(path)
        assert (answer.status, answer.headers["location"]) == (303, "/login")
    assert b"postroad login" in (await stand.get("/login")).content
    script = await stand.get("/queues", {"postroad-region": "table"})
    assert script.status == 401


async def test_a_login_link_opens_one_session(stand: PageStand) -> None:
    made = await stand.road.sessions.login("Ada")
    shown = await stand.get(f"/login?code={made.code}")
    assert made.code.encode() in shown.content
    both = await asyncio.gather(*(stand.post("/login", code=made.code) for _ in range(2)))
    assert sorted(answer.status for answer in both) == [303, 401]
    assert (await stand.get("/")).status == 200
    (session,) = await stand.road.sessions.list()
    assert (session.name, session.role) == ("Ada", "admin")
    assert await stand.road.tokens.list(tenant=None) != [session]


async def test_the_cookie_is_for_this_site_alone(stand: PageStand) -> None:
    answer = await stand.login()
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("postroad_session_8600=prt_")
    assert "HttpOnly; SameSite=Strict" in cookie
    assert "Secure" not in cookie  # over plain HTTP no browser would keep it
    secret = cookie.partition("=")[2].partition(";")[0]
    rows = await stand.road.store.token_find(secret.split("_")[1])
    assert rows is not None
    assert secret.encode() not in rows[1]


async def test_under_tls_no_other_host_of_the_domain_can_plant_a_session(stand: PageStand) -> None:
    stand.scheme = "https"
    cookie = (await stand.login()).headers["set-cookie"]
    assert cookie.startswith("__Host-postroad_session_8600=prt_")
    assert "; Path=/; " in cookie
    assert cookie.endswith("; Secure")
    assert (await stand.get("/queues")).status == 200
    secret = stand.cookies.pop("__Host-postroad_session_8600")
    stand.cookies["postroad_session_8600"] = secret
    assert (await stand.get("/queues")).headers["location"] == "/login"


async def test_a_login_code_is_no_token_and_ends(stand: PageStand) -> None:
    made = await stand.road.sessions.login("Ada")
    assert (await stand.say("GET", "/v1/queues", token=made.code)).status == 401
    now_ms = stand.road.store.clock.now_ms()
    assert abs(made.ends_at_ms - now_ms - LOGIN_S * 1000) < 60_000
    await stand.road.store.token_sweep(made.ends_at_ms)
    with pytest.raises(Unauthorized, match="postroad login"):
        await stand.road.sessions.open(made.code)


async def test_ends_of_sessions(stand: PageStand) -> None:
    await stand.login()
    (session,) = await stand.road.sessions.list()
    assert session.expires_at_ms == session.created_at_ms + SESSION_S * 1000
    assert (await stand.post("/logout")).headers["location"] == "/login"
    assert await stand.road.sessions.list() == []
    assert (await stand.get("/")).status == 303
    await stand.login()
    (session,) = await stand.road.sessions.list()
    assert (await stand.say("DELETE", f"/v1/sessions/{session.id}")).status == 204
    assert (await stand.get("/")).status == 303
    assert (await stand.say("DELETE", f"/v1/sessions/{session.id}")).status == 404


async def test_who_logs_out_takes_the_chosen_tenant_along(stand: PageStand) -> None:
    await stand.login()
    _ = await stand.road.tenants.create("acme")
    await stand.post("/tenant", tenant="acme")
    assert "postroad_tenant_8600" in stand.cookies
    await stand.post("/logout")
    assert stand.cookies == {}
    await stand.login()
    assert b'value="default"' in (await stand.get("/queues")).content


async def test_a_session_has_the_rights_of_its_role(stand: PageStand) -> None:
    await stand.login(role="read")
    await stand.send("good")
    assert b"Pause" not in (await stand.get("/queues")).content
    refused = await stand.post("/queues/pause", {"postroad-fetch": "1"}, queue="good")
    assert refused.json()["bad"]
    assert "manage" in refused.json()["notice"]
    assert not (await stand.road.explain_queue("good")).paused


async def test_a_session_of_one_tenant_sees_no_other(stand: PageStand) -> None:
    await stand.send("good", headers={"postroad-tenant": "shop"})
    await stand.login(role="tenant", tenant="books")
    assert b"No queues yet" in (await stand.get("/queues")).content
    stand.cookies["postroad_tenant_8600"] = "shop"
    assert b"No queues yet" in (await stand.get("/queues")).content
    await stand.login(role="operate", tenant="*")
    assert b"good" in (await stand.get("/queues")).content


@pytest.mark.parametrize("name", ["acme corp", "*", "ä", "a" * 101])
async def test_a_mistyped_tenant_locks_nobody_out(stand: PageStand, name: str) -> None:
    await stand.login()
    refused = await stand.post("/tenant", tenant=name)
    assert refused.status == 400
    assert (await stand.get("/queues")).status == 200
    stand.cookies["postroad_tenant_8600"] = quote(name)  # one that was kept before
    assert (await stand.get("/queues")).status == 200
    await stand.road.tenants.create("acme")
    assert (await stand.post("/tenant", tenant="acme")).status == 303
    assert b'value="acme"' in (await stand.get("/queues")).content


async def test_sessions_and_tokens_of_programs_are_ended_each_by_its_own_verb(
    stand: PageStand,
) -> None:
    road, kept = stand.road, await stand.road.tokens.make("a program")
    assert (await stand.say("POST", "/v1/logout", token=kept.secret)).status == 404
    with pytest.raises(UnknownToken, match="no session"):
        await road.sessions.end(kept.token.id)
    assert kept.token in await road.tokens.list()
    await stand.login()
    (session,) = await road.sessions.list()
    with pytest.raises(UnknownToken, match="no token"):
        await road.tokens.revoke(session.id, tenant=None)
    assert await road.sessions.list() == [session]


async def test_nobody_gives_more_than_he_has(stand: PageStand) -> None:
    weak = await stand.road.tokens.make("weak", scopes=["admin", "read"])
    asked = {"name": "x", "role": "operate"}
    assert (await stand.say("POST", "/v1/logins", asked, token=weak.secret)).status == 403
    brief = await stand.road.tokens.make("brief", lasts_s=3_600)
    assert (await stand.say("POST", "/v1/logins", asked, token=brief.secret)).status == 403
    made = await stand.say("POST", "/v1/logins", asked)
    assert made.status == 201
    assert made.json()["url"].startswith(f"http://{HOST}/login?code=prt_")


async def test_what_a_session_makes_ends_with_the_token_that_let_the_person_in(
    stand: PageStand,
) -> None:
    brief = await stand.road.tokens.make("brief", tenant="*", lasts_s=SESSION_S + 3_600)
    secret, more = brief.secret, {"name": "more", "everywhere": True}
    for _ in range(2):  # also the session of a session
        link = await stand.say("POST", "/v1/logins", {"name": "Ada"}, token=secret)
        code = {"code": link.json()["path"].partition("=")[2]}
        secret = (await stand.say("POST", "/v1/sessions", code, token="")).json()["secret"]
        made = await stand.say("POST", "/v1/tokens", more, token=secret)
        assert made.json()["token"]["expires_at_ms"] == brief.token.expires_at_ms
        late = await stand.say("POST", "/v1/tokens", more | {"lasts_s": 90_000}, token=secret)
        assert late.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
)
async def test_forms_of_other_sites_change_nothing(
    stand: PageStand, headers: dict[str, str]
) -> None:
    await stand.login()
    await stand.send("good")
    answer = await stand.post("/queues/pause", headers, queue="good")
    assert answer.status == 403
    assert not (await stand.road.explain_queue("good")).paused
    for path in ("/logout", "/tenant", "/theme", "/login"):
        assert (await stand.post(path, headers, code="x")).status == 403
    assert (await stand.post("/queues/pause", queue="good")).status == 303
    assert (await stand.road.explain_queue("good")).paused


async def test_the_open_pages_of_an_ended_session_lock_nobody_out(stand: PageStand) -> None:
    await stand.login()
    (session,) = await stand.road.sessions.list()
    await stand.say("DELETE", f"/v1/sessions/{session.id}")
    assert [(await stand.get("/queues")).status for _ in range(12)] == [303] * 12
    await stand.login()
    assert (await stand.get("/queues")).status == 200


async def test_who_logged_in_and_what_they_did_is_in_the_audit_log(stand: PageStand) -> None:
    await stand.login()
    await stand.send("good")
    await stand.post("/queues/pause", queue="good")
    lines = (await stand.say("GET", "/v1/audit")).json()["lines"]
    assert [line["verb"] for line in lines[:2]] == ["pause_queue", "session_open"]
    (session,) = await stand.road.sessions.list()
    for line in lines[:2]:
        assert (line["name"], line["address"]) == ("Ada", "127.0.0.1")
        assert (line["actor"], line["tenant"]) == (session.id, "default")


async def test_wrong_codes_of_strangers_leave_no_line_in_the_audit_log(stand: PageStand) -> None:
    before = (await stand.say("GET", "/v1/audit")).json()["lines"]
    assert (await stand.post("/login", code="prt_wrong")).status == 401
    assert (await stand.say("GET", "/v1/audit")).json()["lines"] == before


async def test_while_one_tenant_is_shown_people_are_let_in_to_that_one(stand: PageStand) -> None:
    await stand.login()
    _ = await stand.road.tenants.create("acme")
    for shown, tenant in (("", "*"), ("acme", "acme")):
        await stand.post("/tenant", tenant=shown)
        page = await stand.post("/access/invite", name="Bob", role="operate")
        code = page.content.partition(b"code=")[2][: len(stand.token)].decode()
        assert (await stand.road.sessions.open(code)).token.tenant == tenant
