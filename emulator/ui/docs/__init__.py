"""The reference pages, the API explorer and the guide."""
