"""Invoices and subscriptions: periods, renewals and dunning."""
