"""Crashes: servers killed at random moments under load, and the truths of their worlds after it."""
