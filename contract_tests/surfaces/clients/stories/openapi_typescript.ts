// The story with openapi-fetch, type checked against what openapi-typescript makes at its default flags: node story.js SERVER
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const KEY = "sk_test_openapi_typescript";
const server = process.argv[2] ?? "";
const headers = { Authorization: `Bearer ${KEY}` };
const api = createClient<paths>({ baseUrl: `${server}/v1`, headers });

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

const { data: customer } = await api.POST("/customers/", {
  body: { email: "awa@example.com", name: "Awa Diop", phone: "+24177000000" },
});
expect(customer !== undefined, "no customer");
const { data: plan } = await api.POST("/subscription-plans/", {
  body: { name: "Basic", amount: 5000, currency: "XAF", interval: "month" },
});
expect(plan !== undefined, "no plan");

const { data: session } = await api.POST("/checkout-sessions/", {
  body: { mode: "subscription", currency: "XAF", customer: customer.id, line_items: [{ plan: plan.id }] },
});
expect(session !== undefined, "no session");
await control(`/checkout-sessions/${session.id}/pay`, "{}");
const paid = await api.GET("/checkout-sessions/{id}/", { params: { path: { id: session.id } } });
expect(paid.data?.status === "complete", "the session is not complete");

await control("/clock/advance", '{"by": "31d"}');
const invoices = await api.GET("/invoices/", { params: { query: { customer: customer.id, status: ["paid"] } } });
expect(invoices.data?.data.length === 2, "two paid invoices were expected");

const transactions = await api.GET("/transactions/", { params: { query: { customer: customer.id } } });
const transaction = transactions.data?.data[0];
expect(transaction !== undefined, "a transaction was expected");
const refund = await api.POST("/refunds/", { body: { transaction: transaction.id, amount: 2000 } });
expect(refund.data?.status === "processing", "the refund is not processing");

const { error } = await api.GET("/customers/{id}/", { params: { path: { id: "cust_000000000000000000000000" } } });
expect(error !== undefined && "code" in error, "an error was expected");
expect(error.code === "CUSTOMER_NOT_FOUND", error.message);
