"""One file per change; numbers in order."""
