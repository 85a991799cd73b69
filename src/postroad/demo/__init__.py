"""The first demo: `python -m postroad.demo`, or `make demo`."""
