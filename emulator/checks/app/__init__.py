"""Tests of an application: a story runs again for each request and webhook that can go wrong, and the ends are compared."""
