"""The web console at ``/_emulator/``: what happens in a world, to be seen and steered in a browser."""
