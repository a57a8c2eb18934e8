"""The catalog of an App: products, subscription plans, and line items that charge for them."""
