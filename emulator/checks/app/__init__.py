"""A sweep: a story is repeated for each request and webhook that can go wrong on its way, and the ends are compared."""
