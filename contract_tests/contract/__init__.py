"""The contract: the document, the rules of each resource, and stories over several of them."""
