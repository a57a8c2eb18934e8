"""The engine: clocks, turns, the schedule at work, and what goes out of a world."""
