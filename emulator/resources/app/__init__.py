"""The App: its settings, API keys, security profiles, bounds on amounts, and the IP addresses of clients."""
