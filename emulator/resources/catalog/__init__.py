"""What an App sells: products, subscription plans, and the line items that bill them."""
