"""Migrations of the database between versions, for Alembic."""
