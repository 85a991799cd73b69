"""Answer rules."""
