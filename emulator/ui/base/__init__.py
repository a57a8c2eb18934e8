"""The base of every HTML page: templates, security headers, the reader's language and posted forms."""
