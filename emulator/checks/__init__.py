"""Checks of an application, its tests, its webhook receiver, a document or a service."""
