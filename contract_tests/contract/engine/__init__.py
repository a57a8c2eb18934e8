"""The engine at work: clocks, units of work, jobs, advances and deliveries."""
