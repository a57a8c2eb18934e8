"""Paper: what people get to read, emails and PDFs, made of frozen values; it knows no world, clock or network."""
