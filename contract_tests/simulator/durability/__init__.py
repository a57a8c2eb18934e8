"""Durability: what was answered is kept, whatever happens to server, disk and database (B-103)."""
