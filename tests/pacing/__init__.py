"""Pacing under test."""
