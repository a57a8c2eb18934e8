"""Clients that generators make of the document, the workflows, and the guide's verifiers: they work with the emulator."""
