"""Roles: named sets of scopes for tokens."""

import pytest

from postroad.model.errors import BadInput
from postroad.model.tokens import EVERY_TENANT, SCOPES_OF, Role, Scope
from tests.api.stand import Stand


@pytest.mark.parametrize("role", Role)
async def test_a_token_of_a_role_has_its_scopes_and_shows_it(stand: Stand, role: Role) -> None:
    answer = await stand.say("POST", "/v1/tokens", {"name": "one", "role": role, "tenant": "mine"})
    assert answer.status == 201, answer.content
    made = answer.json()["token"]
    assert (made["role"], tuple(made["scopes"])) == (role, SCOPES_OF[role])
    (listed,) = await stand.road.tokens.list(tenant="mine")
    assert listed.role is role
    found = await stand.road.tokens.who(answer.json()["secret"])
    assert found is not None
    assert found.scopes == set(SCOPES_OF[role])


def test_roles_are_what_the_guide_says() -> None:
    assert set(SCOPES_OF[Role.read]) == {Scope.read}
    assert set(SCOPES_OF[Role.admin]) == set(Scope)
    for role in (Role.operate, Role.tenant):
        assert set(SCOPES_OF[role]) == set(Scope) - {Scope.admin}


async def test_a_role_gives_no_more_than_its_maker_has(stand: Stand) -> None:
    small = await stand.road.tokens.make("small", scopes=["admin", "read"])
    asked = {"name": "big", "role": "operate"}
    assert (await stand.say("POST", "/v1/tokens", asked, token=small.secret)).status == 403
    asked["role"] = "read"
    assert (await stand.say("POST", "/v1/tokens", asked, token=small.secret)).status == 201


async def test_bad_roles_are_refused(stand: Stand) -> None:
    make = stand.road.tokens.make
    with pytest.raises(BadInput, match="none of read, operate, admin, tenant"):
        await make("x", role="king")
    with pytest.raises(BadInput, match="one of them"):
        await make("x", role="read", scopes=["read"])
    with pytest.raises(BadInput, match="one tenant"):
        await make("x", role="tenant", tenant=EVERY_TENANT)
    assert (await stand.say("POST", "/v1/tokens", {"name": "x", "role": "king"})).status == 400


async def test_scopes_without_a_role_work_as_before(stand: Stand) -> None:
    made = (await stand.say("POST", "/v1/tokens", {"name": "x", "scopes": ["send"]})).json()
    assert (made["token"]["role"], made["token"]["scopes"]) == (None, ["send"])


async def test_a_token_of_every_tenant_is_made_by_one_alone(stand: Stand) -> None:
    asked = {"name": "ops", "everywhere": True}
    own = (await stand.road.tokens.make("own", tenant="acme")).secret
    assert (await stand.say("POST", "/v1/tokens", asked, token=own)).status == 403
    made = (await stand.say("POST", "/v1/tokens", asked)).json()
    found = await stand.road.tokens.who(made["secret"])
    assert found is not None
    assert (made["token"]["tenant"], found.every_tenant) == (EVERY_TENANT, True)
    both = await stand.say("POST", "/v1/tokens", {**asked, "tenant": "acme"})
    assert both.status == 400
