"""The generated files of ``scripts/generate``, from the engine's description of itself."""
