"""The simulator: one seed decides what clients, receivers, clocks, disks and crashes do to a whole emulator."""
