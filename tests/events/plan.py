"""Which tenants have which endpoints, what is published, and who should get it: known without the road."""

from typing import Any

SIZES = (1, 2, 3, 5, 8, 20)
"""Endpoints of each tenant; the last one has more in the long proof."""
KINDS = ("order.paid", "refund.asked", "order.late.twice")
CHANGE_EVERY = 7
MAKE_EVERY = 25
"""So often a tenant gets an endpoint that no event matches."""
HOWS: tuple[dict[str, Any], ...] = (
    {},
    {"types": ("order.*",)},
    {"types": ("refund.asked",)},
    {"filter": {"/even": True}},
)
LARGEST = {"size": SIZES[-1]}


def tenants() -> dict[str, int]:
    """Tenants, and how many endpoints each has."""
    sizes = (*SIZES[:-1], LARGEST["size"])
    return {f"t{place}": size for place, size in enumerate(sizes)}


def tenant_of(number: int) -> str:
    """Small tenants publish most."""
    return f"t{number % 50 % len(SIZES) if number % 50 else len(SIZES) - 1}"


def body_of(number: int) -> dict[str, Any]:
    return {"n": number, "even": number % 2 == 0}


def matches(place: int, number: int) -> bool:
    """Whether the endpoint at this place of a tenant gets the event of this number."""
    kind = KINDS[number % len(KINDS)]
    return (
        True,
        kind.startswith("order."),
        kind == "refund.asked",
        number % 2 == 0,
    )[place % len(HOWS)]
