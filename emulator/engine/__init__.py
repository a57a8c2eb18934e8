"""The engine: worlds at work, with their clocks, their journals and what they send to the outside."""
