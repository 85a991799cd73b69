"""What the road tells about itself: names, logs, counters."""
