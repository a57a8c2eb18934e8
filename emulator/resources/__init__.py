"""The rules of the service: one module per resource, pure. Each holds its record, life cycle, commands and jobs."""
