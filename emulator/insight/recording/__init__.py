"""Recordings: a client's actions in a world as steps, which become tests and can be replayed."""
