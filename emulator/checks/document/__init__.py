"""Conformance: checks any server against the OpenAPI document, knowing only the document and HTTP."""
