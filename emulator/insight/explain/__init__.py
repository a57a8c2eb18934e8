"""Explanations: the causes behind an object's state, each step in a sentence."""
