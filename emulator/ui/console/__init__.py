"""The web console at ``/_emulator/``: shows what happens in a world, and controls it, in a browser."""
