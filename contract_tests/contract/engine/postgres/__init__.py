"""Worlds that several processes share; these tests need PostgreSQL and nginx."""
