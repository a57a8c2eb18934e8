"""Coverage of the specification: which test exercises each thing that the document promises."""
