"""Conformance: checks any server, knowing only the OpenAPI document and HTTP."""
