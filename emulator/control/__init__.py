"""The emulator's own face: what a tester may do that no merchant can, such as moving the clock."""
