"""The guards of the road, taken away from outside: the scenario must see that they are gone."""


def disarm() -> None:
    """Take them away in this process."""
