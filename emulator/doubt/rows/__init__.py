"""The rows of the table of wrong services, by subject."""
