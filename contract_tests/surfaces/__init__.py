"""The faces of the emulator: control API, console, pages, commands, plugin, clients."""
