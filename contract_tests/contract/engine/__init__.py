"""The kernel and the engine at work: tables, worlds and jobs against naive models, clocks and deliveries."""
