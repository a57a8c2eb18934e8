"""Pages people read in a browser: HTML from templates, no rule of the service, nothing loaded from elsewhere."""
