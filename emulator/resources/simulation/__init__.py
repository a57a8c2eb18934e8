"""The email outbox, which only a sandbox has."""
