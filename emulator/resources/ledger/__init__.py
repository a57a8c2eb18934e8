"""The ledger: double entry over payments, refunds and invoices, derived from what each unit of work changed.

Each kind of record that holds money posts the difference between what it was before a change and what it is after it.
For every unit of work

- the books (``accounts.BOOKS``) sum to zero for each record: where money comes from and where it goes;
- accounts that compare two kinds of record come out even: what a customer's ``total_spent`` says and what its
  transactions say, ``amount_refunded`` and the refunds;
- an invoice or a session that was touched has received just what it says it was paid, so that none is paid twice, and
  none is paid without money or receives money without being paid (B-61, B-62).

Nothing is stored. A unit of work is checked by its own changes, so worlds from fixtures and snapshots need no opening
balance, and what a tester sets directly is no imbalance: the account ``set_directly`` takes what then does not add up,
so that the totals of a currency sum to zero wherever the records come from. Amounts are in minor units.
"""
