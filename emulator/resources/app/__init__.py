"""The App: settings, API keys, security profiles, bounds on amounts, clients' IP addresses."""
