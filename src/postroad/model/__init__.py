"""The words of the road as frozen values, and the pure decisions over them. No I/O."""
