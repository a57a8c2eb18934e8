"""What only a sandbox has: the email outbox."""
