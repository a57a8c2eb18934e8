"""Persistent state: the stores that worlds are saved in, and the format in which they are saved."""
