"""Small businesses with planted bugs, each with the examination that should find it."""
