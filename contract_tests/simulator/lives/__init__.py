"""A model of a subscription's life, written apart from the rules, and random walks that compare the two."""
