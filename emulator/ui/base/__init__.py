"""The base of every HTML page: templates, security headers, the language and posted forms."""
