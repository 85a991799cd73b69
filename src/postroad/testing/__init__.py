"""Simulated time, and the rehearsal that the pytest plugin gives to tests."""
