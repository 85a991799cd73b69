"""Logging in by an OpenID provider that lies, is away, or says too much."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from postroad.api.login_file import read_login_file
from postroad.config import Settings
from postroad.dashboard.logins import id_token, provider
from postroad.model.errors import BadSetting
from postroad.remote.api_request import ApiAnswer
from tests.dashboard.forging import CLIENT_ID, ForgedProvider, asked_for
from tests.dashboard.stand import HOST, PageStand

FILE = """
[openid]
name = "Example"
issuer = "ISSUER"
client_id = "postroad"
client_secret = "a secret & more"

[[members]]
claim = "groups"
value = "road-operators"
role = "operate"

[[members]]
claim = "email"
value = "root@example.com"
role = "admin"

[[members]]
claim = "realm_access.roles"
value = "customer"
role = "operate"
tenant_claim = "org"
"""


class Login:
    """A stand whose people come by a forged provider."""

    def __init__(self, stand: PageStand, forged: ForgedProvider) -> None:
        self.stand, self.forged = stand, forged
        self.asked: dict[str, str] = {}

    async def begin(self) -> None:
        answer = await self.stand.get("/login/openid")
        assert answer.status == 303, answer.content
        self.asked = asked_for(answer.headers["location"])
        self.forged.nonce = self.asked["nonce"]

    async def back(self, **changed: str) -> ApiAnswer:
        given = {"code": "abc", "state": self.asked["state"], **changed}
        query = "&".join(f"{name}={value}" for name, value in given.items() if value)
        return await self.stand.get(f"/login/return?{query}")

    async def whole(self) -> ApiAnswer:
        await self.begin()
        return await self.back()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Login]:
    forged = ForgedProvider()
    async with forged.up():
        file = folder / "login.toml"
        file.write_text(FILE.replace("ISSUER", forged.issuer))
        async with PageStand(folder, Settings(login_file=str(file))) as stand:
            yield Login(stand, forged)


async def refused(login: Login, words: str, status: int = 401) -> None:
    """A login that gets nowhere: no session, and a sentence that says why."""
    answer = await login.whole()
    assert answer.status == status, answer.content
    assert words in answer.content.decode()
    assert await login.stand.road.sessions.list() == []
    assert "postroad_session_8600" not in login.stand.cookies
    assert (await login.stand.get("/")).status == 303


async def test_a_member_gets_a_session_with_the_role_of_the_rule(tmp_path: Path) -> None:
    async with opened(tmp_path) as login:
        shown = (await login.stand.get("/login")).content.decode()
        assert "Sign in with Example" in shown
        answer = await login.whole()
        assert answer.status == 200
        assert 'http-equiv="refresh" content="0; url=/"' in answer.content.decode()
        session, flow = answer.headers["set-cookie"].split(", ")
        assert "HttpOnly; SameSite=Strict" in session
        assert flow.startswith("postroad_login_8600=; ")
        (made,) = await login.stand.road.sessions.list()
        assert (made.name, made.role, made.tenant) == ("ada", "operate", "*")
        assert (await login.stand.get("/")).status == 200
        line = (await login.stand.say("GET", "/v1/audit")).json()["lines"][0]
        assert (line["verb"], line["name"], line["actor"]) == ("session_open", "ada", made.id)


async def test_what_the_provider_is_asked_binds_its_answer_to_this_browser(tmp_path: Path) -> None:
    async with opened(tmp_path) as login:
        _ = await login.whole()
        asked, (form,) = login.asked, login.forged.forms
        assert asked["redirect_uri"] == form["redirect_uri"][0] == f"http://{HOST}/login/return"
        assert (asked["response_type"], asked["scope"]) == ("code", "openid profile email")
        assert asked["code_challenge_method"] == "S256"
        digest = sha256(form["code_verifier"][0].encode()).digest()
        assert asked["code_challenge"] == urlsafe_b64encode(digest).decode().rstrip("=")
        drawn = [asked["state"], asked["nonce"], form["code_verifier"][0]]
        assert len(set(drawn)) == 3
        await login.begin()
        assert login.asked["state"] != drawn[0]


@pytest.mark.parametrize("changed", [{"state": "x"}, {"state": ""}, {"iss": "http://evil.example"}])
async def test_an_answer_to_another_login_is_not_even_asked_about(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    async with opened(tmp_path) as login:
        await login.begin()
        answer = await login.back(**changed)
        assert answer.status == 401
        assert "sign in again" in answer.content.decode()
        assert login.forged.forms == []
        assert "postroad_session_8600" not in login.stand.cookies


async def test_an_answer_is_good_once_and_in_its_own_browser_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as login:
        assert (await login.whole()).status == 200
        assert (await login.back()).status == 401  # the cookie of that login is gone
        await login.begin()
        login.stand.cookies.clear()  # another browser
        assert (await login.back()).status == 401
        assert len(login.forged.forms) == 1


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"nonce": "another"}, "belongs to another login"),
        ({"nonce": None}, "belongs to another login"),
        ({"aud": "shop"}, "for another application"),
        ({"aud": [CLIENT_ID, "shop"]}, "made for another application"),
        ({"azp": "shop"}, "made for another application"),
        ({"iss": "http://evil.example"}, "of another issuer"),
        ({"exp": 1_700_000_000}, "has expired"),
        ({"exp": None}, "no time exp"),
        ({"exp": "never"}, "no time exp"),
        ({"iat": 9_700_000_000}, "from the future"),
        ({"nbf": 9_700_000_000}, "from the future"),
        ({"sub": ""}, "names nobody"),
        ({"sub": None}, "names nobody"),
    ],
)
async def test_a_token_that_says_something_else_is_refused(
    tmp_path: Path, claims: dict[str, Any], words: str
) -> None:
    async with opened(tmp_path) as login:
        login.forged.claims = claims
        await refused(login, words)


def unsigned(forged: ForgedProvider) -> str:
    parts = [{"alg": "none"}, forged.said()]
    texts = [urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*texts, ""])


def by_public_key(forged: ForgedProvider) -> str:
    """Signed by HS256, with the provider's public key as the secret."""
    secret = urlsafe_b64encode(forged.keys[0].export_to_pem()).decode().rstrip("=")
    token = JWS(json.dumps(forged.said()))
    token.add_signature(JWK(kty="oct", k=secret), None, json.dumps({"alg": "HS256", "kid": "one"}))
    return str(token.serialize(compact=True))


def by_another(forged: ForgedProvider) -> str:
    """Signed by a key of somebody else that has the same name."""
    key = JWK.generate(kty="RSA", size=2_048, kid="one", use="sig", alg="RS256")
    token = JWS(json.dumps(forged.said()))
    token.add_signature(key, None, json.dumps({"alg": "RS256", "kid": "one"}))
    return str(token.serialize(compact=True))


def changed_later(forged: ForgedProvider) -> str:
    """Signed, then changed: another person."""
    head, _, signature = forged.signed().split(".")
    said = json.dumps({**forged.said(), "preferred_username": "root"}).encode()
    return f"{head}.{urlsafe_b64encode(said).decode().rstrip('=')}.{signature}"


FORGED = {
    unsigned: "signed by &#39;none&#39;",
    by_public_key: "signed by &#39;HS256&#39;",
    by_another: "signature of the ID token is wrong",
    changed_later: "signature of the ID token is wrong",
}


@pytest.mark.parametrize("forge", FORGED, ids=lambda each: each.__name__)
async def test_a_token_that_the_provider_did_not_sign_is_refused(
    tmp_path: Path, forge: Any
) -> None:
    async with opened(tmp_path) as login:
        login.forged.id_token = lambda: forge(login.forged)
        await refused(login, FORGED[forge])


async def test_without_the_check_of_signatures_a_forged_token_lets_its_maker_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(id_token, "_check_signature", lambda *_: None)
    async with opened(tmp_path) as login:
        login.forged.id_token = lambda: changed_later(login.forged)
        assert (await login.whole()).status == 200
        (made,) = await login.stand.road.sessions.list()
        assert made.name == "root"


@pytest.mark.parametrize("text", ["", "a.b", "a.b.c", "!.!.!", "e30.e30.", "x" * 40_000 + ".y.z"])
async def test_what_is_no_token_is_refused(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path) as login:
        login.forged.id_token = lambda: text
        await refused(login, "ID token")


async def test_es256_is_read_and_keys_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "KEYS_AGAIN_S", 0.0)
    async with opened(tmp_path) as login:
        assert (await login.whole()).status == 200
        for name in ("two", "three"):
            key = JWK.generate(kty="EC", crv="P-256", kid=name, use="sig", alg="ES256")
            login.forged.keys = [key]
            assert (await login.whole()).status == 200
        assert (await login.whole()).status == 200
        assert login.forged.asked.count("/keys") == 3  # once for each key
        assert login.forged.asked.count("/.well-known/openid-configuration") == 1


async def test_unknown_keys_do_not_make_us_ask_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "KEYS_AGAIN_S", 3_600.0)  # however slow this machine is
    async with opened(tmp_path) as login:
        login.forged.header = {"kid": "nobody's"}
        for _ in range(3):
            await refused(login, "does not publish")
        assert login.forged.asked.count("/keys") == 1


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token"])
@pytest.mark.parametrize("said", [b"{" * 1_000_000, b'{"a": "' + b"x" * 3_000_000, b"[]", b"\xff"])
async def test_a_provider_that_says_too_much_or_nonsense_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, said: bytes
) -> None:
    monkeypatch.setattr(provider, "AWAY_S", 0.0)
    async with opened(tmp_path) as login:
        login.forged.answers[path] = said
        answer = await login.stand.get("/login/openid")
        if answer.status == 303:
            login.asked = asked_for(answer.headers["location"])
            answer = await login.back()
        assert answer.status == 502
        assert "cannot be read" in answer.content.decode()
        login.forged.answers.clear()
        assert (await login.whole()).status == 200  # it is back


async def test_while_the_provider_is_away_people_are_told_and_links_work(tmp_path: Path) -> None:
    file = tmp_path / "login.toml"
    file.write_text(FILE.replace("ISSUER", "http://127.0.0.1:9"))
    async with PageStand(tmp_path, Settings(login_file=str(file))) as stand:
        answer = await stand.get("/login/openid")
        assert answer.status == 502
        assert "does not answer: refused; try again later" in answer.content.decode()
        await stand.login()
        assert (await stand.get("/")).status == 200


async def test_a_provider_of_another_issuer_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "AWAY_S", 0.0)
    async with opened(tmp_path) as login:
        known = {"authorization_endpoint": "", "token_endpoint": "", "jwks_uri": ""}
        said = {**known, "issuer": "https://evil.example"}
        login.forged.answers["/.well-known/openid-configuration"] = json.dumps(said).encode()
        assert b"another issuer" in (await login.stand.get("/login/openid")).content
        said = {**dict.fromkeys(known, "http://evil.example/x"), "issuer": login.forged.issuer}
        login.forged.answers["/.well-known/openid-configuration"] = json.dumps(said).encode()
        assert b"cannot be used" in (await login.stand.get("/login/openid")).content


async def test_who_is_nobodys_member_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with opened(tmp_path) as login:
        for claims in (
            {"groups": ["guests"]},
            {"groups": None, "email": "root@example.com"},
            {"groups": None, "email": "root@example.com", "email_verified": False},
            {"groups": {"road-operators": 1}},
            {"groups": None, "realm_access": {"roles": ["customer"]}, "org": "*"},
            {"groups": None, "realm_access": {"roles": ["customer"]}, "org": 7},
        ):
            login.forged.claims = claims
            await refused(login, "may not use this server", 403)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (
            {"groups": None, "email": "root@example.com", "email_verified": True},
            ("root@example.com", "admin", "*"),
        ),
        (
            {"groups": [], "realm_access": {"roles": ["customer"]}, "org": "shop"},
            ("ada", "operate", "shop"),
        ),
        ({"groups": "road-operators", "preferred_username": None}, ("42", "operate", "*")),
    ],
)
async def test_claims_say_role_and_tenant(
    tmp_path: Path, claims: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    async with opened(tmp_path) as login:
        login.forged.claims = claims
        assert (await login.whole()).status == 200
        (made,) = await login.stand.road.sessions.list()
        assert (made.name, made.role, made.tenant) == expected


async def test_answers_that_fail_are_slowed_down_and_good_ones_are_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as login:
        assert [(await login.whole()).status for _ in range(12)] == [200] * 12
        login.forged.claims = {"nonce": "another"}
        assert [(await login.whole()).status for _ in range(12)] == [401] * 10 + [429] * 2
        assert len(login.forged.forms) == 22  # those who have to wait do not reach the provider


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[openid]\nissuer = 'http://id.example.com'\nclient_id = 'x'", "http is for localhost"),
        ("[openid]\nissuer = 'https://id.example.com'\nclient_id = 'x'", "nobody could log in"),
        ("[openid]\nclient_id = 'x'", "issuer"),
        ("[openid]\nsecret = 's3cret'", "secret"),
        ("[proxy]\naddresses = ['x']", "no address or network"),
        ("[proxy]\naddresses = []", "addresses"),
        ("[[members]]\nclaim = 'a'\nvalue = 'b'\nrole = 'king'", "role"),
        ("[[members]]\nclaim = 'a'\nvalue = 'b'\nrole = 'tenant'", "name it"),
        ("[[members]]\nclaim = 'a'\nvalue = 'b'\nrole = 'read'\ntenant = 'ä'", "tenant"),
        ("openid = ", "not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_at_the_start(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "login.toml"
    file.write_text(text)
    with pytest.raises(BadSetting, match=words) as told:
        read_login_file(str(file))
    assert "s3cret" not in str(told.value)
    with pytest.raises(BadSetting, match="cannot read"):
        read_login_file(str(tmp_path / "none.toml"))
