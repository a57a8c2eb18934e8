"""The audit: the service's guidance for clients, and the requests in the journal that ignore it."""
