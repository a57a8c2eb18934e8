// The story with the client that @hey-api/openapi-ts makes: node story.js SERVER
import { client } from "./client/client.gen";
import {
  createCheckoutSession,
  createCustomer,
  createRefund,
  createSubscriptionPlan,
  getCheckoutSession,
  getCustomer,
  listInvoices,
  listTransactions,
} from "./client";

const KEY = "sk_test_hey_api";
const server = process.argv[2] ?? "";
client.setConfig({ baseUrl: `${server}/v1`, auth: KEY });

/** Does what no client of the service can: pays as a buyer would, and moves the clock. */
async function control(path: string, body: string): Promise<void> {
  const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
  const answer = await fetch(`${server}/_emulator${path}`, { method: "POST", headers, body });
  expect(answer.ok, path);
}

function expect(fact: boolean, otherwise: string): asserts fact {
  if (!fact) throw new Error(otherwise);
}

async function story(): Promise<void> {
  const { data: customer } = await createCustomer({
    body: { email: "awa@example.com", name: "Awa Diop", phone: "+24177000000" },
  });
  expect(customer !== undefined, "no customer");
  const { data: plan } = await createSubscriptionPlan({
    body: { name: "Basic", amount: 5000, currency: "XAF", interval: "month" },
  });
  expect(plan !== undefined, "no plan");

  const { data: session } = await createCheckoutSession({
    body: { mode: "subscription", currency: "XAF", customer: customer.id, line_items: [{ plan: plan.id }] },
  });
  expect(session !== undefined, "no session");
  await control(`/checkout-sessions/${session.id}/pay`, "{}");
  const paid = await getCheckoutSession({ path: { id: session.id } });
  expect(paid.data?.status === "complete", "the session is not complete");

  await control("/clock/advance", '{"by": "31d"}');
  const invoices = await listInvoices({ query: { customer: customer.id, status: ["paid"] } });
  expect(invoices.data?.data.length === 2, "two paid invoices were expected");

  const transactions = await listTransactions({ query: { customer: customer.id } });
  const transaction = transactions.data?.data[0];
  expect(transaction !== undefined, "a transaction was expected");
  const refund = await createRefund({ body: { transaction: transaction.id, amount: 2000 } });
  expect(refund.data?.status === "processing", "the refund is not processing");

  const { error } = await getCustomer({ path: { id: "cust_000000000000000000000000" } });
  expect(error !== undefined && "code" in error, "an error was expected");
  expect(error.code === "CUSTOMER_NOT_FOUND", error.message);
}

void story();
