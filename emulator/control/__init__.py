"""The control API: what a tester can do and a merchant cannot, such as moving the clock."""
