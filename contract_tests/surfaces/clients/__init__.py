"""Clients that generators make of the document, and Prism as a proxy that validates: they work with the emulator."""
