"""The interfaces of what can be swapped, one file each."""
