"""Invoices and receipts as tagged PDFs, the same bytes each time.

Drawn with pydyf and uharfbuzz. Typst was tried instead: its output is as deterministic and tagged,
with right-to-left names, in 20 ms a page, but its one library has 81 MB, where all that draws here
has 6 MB and the whole image shall have 120 MB.
"""
