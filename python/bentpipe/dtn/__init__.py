"""Delay-tolerant networking: contact plans, contacts by geometry, and TCP over bundles."""
