"""Sentences that say how an object stands, why, and what happens to it next."""
