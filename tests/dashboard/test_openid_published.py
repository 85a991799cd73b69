"""What an OpenID provider publishes: addresses that a header can hold, and keys of any form."""

import json
from pathlib import Path
from typing import Any

import pytest
from jwcrypto.jwk import JWK

from postroad.api.login_file import read_login_file
from postroad.dashboard.logins import provider
from postroad.model.errors import BadSetting
from tests.dashboard.test_openid import FILE, Login, opened

CONFIGURATION = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    "address",
    [
        "https://id.example.com/\r\nset-cookie: a=b",
        "https://id.example.com/\x01",
        "https://id.example.com/a b",
        "https://id.example.com/ä",
        "https://id.example.com/€",
        "https://id.example.com/#here",
    ],
)
@pytest.mark.parametrize("door", ["authorization_endpoint", "end_session_endpoint"])
async def test_an_address_that_no_header_can_hold_is_not_led_to(
    tmp_path: Path, address: str, door: str
) -> None:
    async with opened(tmp_path) as login:
        doors = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        said = dict.fromkeys(doors, f"{login.forged.issuer}/x")
        said |= {"issuer": login.forged.issuer, door: address}
        login.forged.answers[CONFIGURATION] = json.dumps(said).encode()
        for path in ("/login/openid", "/login/leave"):
            answer = await login.stand.get(path)
            assert answer.status == 502
            assert f"cannot be used: {door}: give an address" in answer.content.decode()
            assert "location" not in answer.headers
    (tmp_path / "login.toml").write_text(
        FILE.replace('"ISSUER"', json.dumps(address, ensure_ascii=False))
    )
    with pytest.raises(BadSetting, match=r"openid\.issuer: give an address"):
        read_login_file(str(tmp_path / "login.toml"))


def publish(login: Login, *before: dict[str, Any], without: str = "") -> None:
    """Publish the provider's own keys behind others, without one of their members."""
    own = [json.loads(each.export_public()) for each in login.forged.keys]
    for each in own:
        each.pop(without, None)
    login.forged.answers["/keys"] = json.dumps({"keys": [*before, *own]}).encode()


@pytest.mark.parametrize("odd", [{"kid": None}, {"kid": 7}, {"use": None}, {"n": 5}, {"x": []}])
async def test_a_key_of_another_form_does_not_shut_out_the_others(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    async with opened(tmp_path) as login:
        publish(login, {"kty": "RSA", **odd})
        assert (await login.whole()).status == 200


async def test_a_key_without_a_name_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "KEYS_AGAIN_S", 0.0)
    async with opened(tmp_path) as login:
        login.forged.header = {"kid": ""}
        for _ in range(2):
            login.forged.keys = [
                JWK.generate(kty="RSA", size=2_048, kid="one", use="sig", alg="RS256")
            ]
            publish(login, without="kid")
            assert (await login.whole()).status == 200
        monkeypatch.setattr(provider, "KEYS_AGAIN_S", 3_600.0)
        login.forged.keys = [JWK.generate(kty="RSA", size=2_048, kid="one", use="sig", alg="RS256")]
        answer = await login.whole()
        assert (answer.status, b"signature of the ID token is wrong" in answer.content) == (
            401,
            True,
        )
