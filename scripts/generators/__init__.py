"""What ``scripts/generate`` writes, from what the engine says of itself."""
