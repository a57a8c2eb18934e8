"""The kernel: world, records, life cycles, turns, jobs, calendar, money, ids. It knows no payments and no HTTP."""
