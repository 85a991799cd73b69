"""Pacing: what a process makes of the slots that it reserves."""
