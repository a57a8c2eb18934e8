"""Emails: their contents and MIME messages."""
