"""Random histories, crashes, damaged and shared state, hostile input."""
