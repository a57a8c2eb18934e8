"""The server: all parts put together, and served on a socket."""
