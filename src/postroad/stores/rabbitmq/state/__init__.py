"""What is kept beside the broker: spent copies, tries, blocks, the dead set."""
