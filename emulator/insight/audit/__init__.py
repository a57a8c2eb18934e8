"""The audit: what the service asks of its clients, and how the journal shows that they do it."""
