"""A local sandbox of a Payments and Recurring Billing API, with a clock that can be moved."""
