"""Payments: intents, transactions, refunds, receipts, payment links, and the simulated operator behind them."""
