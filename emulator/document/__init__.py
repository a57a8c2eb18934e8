"""The OpenAPI documents of the emulator: how their many files become one, and how the program reads them."""
