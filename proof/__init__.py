"""Long proofs at full size; their small twins in the tests call the same functions."""
