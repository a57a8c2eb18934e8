"""The engine at work: clocks, turns, jobs, advances and deliveries."""
