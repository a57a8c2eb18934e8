"""State that lasts: where worlds are kept while no process runs them, and in what form."""
