"""Recordings: what a client did in a world as steps, which become tests in several forms and can be played again."""
