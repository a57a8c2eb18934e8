"""Explanations: the causes behind an object's state, and a sentence on how it stands."""
