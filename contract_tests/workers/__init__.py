"""A server of several processes (``serve --workers``)."""
