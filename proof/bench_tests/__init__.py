"""Benchmarks that start servers, small, from end to end; `make proof ITEM=bench-tests` runs them."""
