"""The module for Node under the test runners that come from npm, and its types."""
