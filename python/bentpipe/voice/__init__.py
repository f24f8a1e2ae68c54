"""Calls: how they sound."""
