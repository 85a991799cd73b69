"""Tests that are coroutines are run."""

from tests.events.conftest import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
