"""What the service does not have: arranged faults, mobile money prompts, the email outbox, the reset."""
