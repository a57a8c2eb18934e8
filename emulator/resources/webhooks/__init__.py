"""Webhook endpoints, their signed deliveries, and the hosts that are never called."""
