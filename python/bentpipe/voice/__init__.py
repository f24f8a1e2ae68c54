"""Telephone calls: rating, an exchange and a telephone for real networks, and the speech heard in
calls."""
