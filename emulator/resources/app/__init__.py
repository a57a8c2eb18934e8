"""The App: its settings, its API keys, its security profiles, and where its callers come from."""
