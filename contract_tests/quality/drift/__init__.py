"""Drift: what is said in two places is said alike, or a test fails."""
