"""Checkout sessions and the payments buyers make on hosted pages."""
