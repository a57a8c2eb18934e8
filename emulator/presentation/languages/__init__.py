"""Internationalization: translated messages (gettext), amounts and dates by language (Babel)."""
