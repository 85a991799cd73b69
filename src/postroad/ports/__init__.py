"""What can be swapped, one file each."""
