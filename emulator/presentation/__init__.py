"""Rendering: customers' emails and PDFs from frozen values, without a world, clock or network."""
