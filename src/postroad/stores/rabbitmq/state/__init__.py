"""What the state store keeps beside the broker: spent copies, tries, blocks, the dead set.

The statements are in `postgres/` and `sqlite/`, by topic. The tables belong to those stores.
"""
