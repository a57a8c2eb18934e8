"""The core against naive models of itself, with records that mean nothing."""
