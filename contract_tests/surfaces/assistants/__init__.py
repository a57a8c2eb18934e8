"""Tests of what AI assistants use: the MCP server, the skill, and the pages as text."""
