"""Telephone calls: their rating, their real exchange and telephone, and what is heard in them."""
