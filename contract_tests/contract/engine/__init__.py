"""The kernel and the engine: tables, worlds, jobs against naive models, clocks and deliveries."""
