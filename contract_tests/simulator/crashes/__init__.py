"""Crashes: servers that are killed at random moments under load, and what must be true of their worlds afterwards."""
