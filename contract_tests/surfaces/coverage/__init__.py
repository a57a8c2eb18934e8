"""Coverage of the specification: which test exercises each part of the document."""
