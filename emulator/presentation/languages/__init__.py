"""Internationalization: translated messages (gettext) and how each language writes amounts and dates (Babel)."""
