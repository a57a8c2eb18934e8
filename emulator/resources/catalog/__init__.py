"""What an App sells: products, subscription plans, and line items that charge for them."""
