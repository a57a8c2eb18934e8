"""The simulator: a seed decides on all clients, receivers, clocks, disks and crashes."""
