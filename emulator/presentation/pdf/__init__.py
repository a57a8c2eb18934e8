"""PDFs of invoices and receipts."""
