// The story with the client for fetch that orval makes; the server stands in it: node story.js
import {
  createCheckoutSession,
  createCustomer,
  createRefund,
  createSubscriptionPlan,
  getCheckoutSession,
  getCustomer,
  listInvoices,
  listTransactions,
} from "./client.js";

const headers = { Authorization: "Bearer sk_test_orval" };
const server = process.argv[2] ?? "";

/** Does what no client of the service can: pays as a buyer would, and moves the clock. */
async function control(path: string, body: string): Promise<void> {
  const answer = await fetch(`${server}/_emulator${path}`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body,
  });
  expect(answer.ok, path);
}

function expect(fact: boolean, otherwise: string): asserts fact {
  if (!fact) throw new Error(otherwise);
}

const customer = await createCustomer({ email: "awa@example.com", name: "Awa Diop", phone: "+24177000000" }, { headers });
expect(customer.status === 201, "no customer");
expect(customer.data.address === null, "a customer without an address is one");
const plan = await createSubscriptionPlan({ name: "Basic", amount: 5000, currency: "XAF", interval: "month" }, { headers });
expect(plan.status === 201, "no plan");

const session = await createCheckoutSession(
  { mode: "subscription", currency: "XAF", customer: customer.data.id, line_items: [{ plan: plan.data.id }] },
  { headers },
);
expect(session.status === 201, "no session");
await control(`/checkout-sessions/${session.data.id}/pay`, "{}");
const paid = await getCheckoutSession(session.data.id, { headers });
expect(paid.status === 200 && paid.data.status === "complete", "the session is not complete");

await control("/clock/advance", '{"by": "31d"}');
const invoices = await listInvoices({ customer: customer.data.id, status: ["paid"] }, { headers });
expect(invoices.status === 200 && invoices.data.data.length === 2, "two paid invoices were expected");

const transactions = await listTransactions({ customer: customer.data.id }, { headers });
expect(transactions.status === 200, "no transactions");
const transaction = transactions.data.data[0];
expect(transaction !== undefined, "a transaction was expected");
const refund = await createRefund({ transaction: transaction.id, amount: 2000, reason: null }, { headers });
expect(refund.status === 201 && refund.data.status === "processing", "the refund is not processing");

const missing = await getCustomer("cust_000000000000000000000000", { headers });
expect(missing.status === 404 && "code" in missing.data, "an error was expected");
expect(missing.data.code === "CUSTOMER_NOT_FOUND", missing.data.message);
