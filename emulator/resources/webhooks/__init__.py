"""Webhook endpoints, their signed deliveries, and where deliveries may go."""
