"""The OpenAPI documents of the emulator: the bundling of their many files, and their use."""
