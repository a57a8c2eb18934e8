"""Tests of the OpenAPI documents themselves, and of the machinery that bundles them."""
