"""Promises of the document for every operation, and each of them for a new resource as well."""
