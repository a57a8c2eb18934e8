"""Rendering: the emails and PDFs that customers read, made from frozen values without a world, clock or network."""
