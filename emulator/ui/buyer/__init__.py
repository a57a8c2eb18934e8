"""Buyers' pages and the reference: HTML templates, no rules of the service, no external files."""
