"""What only a sandbox has: injected faults, mobile money prompts, the email outbox, invoices to print, the reset."""
