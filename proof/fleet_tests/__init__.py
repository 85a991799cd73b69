"""Tests of the fleet that take long or take times; `make proof ITEM=fleet-tests` runs them."""
