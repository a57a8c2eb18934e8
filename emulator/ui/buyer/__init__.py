"""Pages for buyers and the reference: HTML from templates, without rules of the service and without external files."""
