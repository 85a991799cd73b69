"""Suppression lists."""
