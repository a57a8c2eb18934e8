"""Payments: intents, transactions, refunds, receipts, links, and the simulated operator."""
