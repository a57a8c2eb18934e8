"""Customers, their addresses and their payment methods."""
