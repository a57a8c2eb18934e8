"""Durability: what was answered is kept, whatever happens to server, disk, network and database (B-103)."""
