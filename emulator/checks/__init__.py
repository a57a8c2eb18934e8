"""Checks of somebody's code or server: an application, its tests, its webhook receiver, a document, a service."""
