"""The engine: worlds at work, with their clocks, journals and deliveries to the outside."""
