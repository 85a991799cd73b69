"""Benchmarks: ours and peers in one run, on one disk, equally durable, every message counted."""
