"""Recordings: tests made of what was done in a world, and their play-back."""
