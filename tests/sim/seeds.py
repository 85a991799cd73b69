"""Simulation seeds, for the quick test and the full-size proof alike."""

from collections.abc import Awaitable, Callable

from tests.rig.swarm import swarm
from tests.rig.world import World, simulate

Story = Callable[[World], Awaitable[None]]


def broken_seeds(first: int, count: int, story: Story = swarm) -> list[str]:
    """Lives through so many worlds with faults; names what broke, with the seed that shows it."""
    broken: list[str] = []
    for seed in range(first, first + count):
        try:
            simulate(seed, story)
        except Exception as error:  # noqa: BLE001 - every kind of failure is a finding
            broken.append(f"seed {seed}: {type(error).__name__}: {error}")
    return broken


def unsteady_seeds(first: int, count: int) -> list[int]:
    """Seeds that give another digest when they are lived through again."""
    return [
        seed
        for seed in range(first, first + count)
        if simulate(seed, swarm) != simulate(seed, swarm)
    ]
