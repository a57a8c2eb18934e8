// The same story, type checked against what openapi-typescript makes of the document: node story.js URL
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const baseUrl: string = process.argv[2];
const api = createClient<paths>({ baseUrl, headers: { Authorization: "Bearer sk_test_typescript" } });

function sure<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(what);
  return value;
}

const made = await api.POST("/customers/", {
  body: { email: "awa@example.com", name: "Awa Diop", phone: "+24177000000" },
});
const customer = sure(made.data, "no customer");
const terms = await api.POST("/subscription-plans/", {
  body: { name: "Basic", amount: 5000, currency: "XAF", interval: "month" },
});
const plan = sure(terms.data, "no plan");
const created = await api.POST("/subscriptions/", { body: { customer: customer.id, plan: plan.id } });
const subscription = sure(created.data, "no subscription");
if (subscription.status !== "active") throw new Error(subscription.status);

const listed = await api.GET("/subscriptions/", { params: { query: { customer: customer.id } } });
if (sure(listed.data, "no list").data.length !== 1) throw new Error("one subscription was expected");

const missing = await api.GET("/customers/{id}/", { params: { path: { id: "cust_000000000000000000000000" } } });
if (missing.response.status !== 404 || missing.error === undefined) throw new Error("it is not there");
