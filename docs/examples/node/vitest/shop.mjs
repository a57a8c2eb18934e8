// A membership shop with Express: customers subscribe, webhooks say who is a member.

import express from "express";
import { verifyWebhook } from "payments-emulator";

/** The shop's application. `secret` is that of its webhook endpoint. */
export function shop({ url, key, secret }) {
  const members = new Map();
  const app = express();
  app.get("/members/:customer", (request, response) => {
    response.json({ member: members.has(request.params.customer) });
  });
  // The signature is of the raw body, so it must not be parsed before. By itself Express takes no more than 100 KiB.
  app.post("/webhooks", express.raw({ type: "*/*", limit: "1mb" }), (request, response) => {
    if (!verifyWebhook(request.body, request.headers, secret)) return response.sendStatus(401);
    const { type, data } = JSON.parse(request.body);
    if (type === "subscription.created") members.set(data.object.customer, data.object.id);
    if (type === "subscription.canceled") members.delete(data.object.customer);
    response.sendStatus(200);
  });
  app.post("/subscribe", express.json(), async (request, response) => {
    const call = async (path, body) => {
      const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
      const answer = await fetch(`${url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return answer.json();
    };
    const customer = await call("/customers/", { email: request.body.email, name: "Awa Diop", phone: request.body.phone });
    const plan = await call("/subscription-plans/", { name: "Club", amount: 5000, currency: "XAF", interval: "month" });
    const subscription = await call("/subscriptions/", { customer: customer.id, plan: plan.id });
    response.status(201).json({ customer: customer.id, subscription: subscription.id });
  });
  return app;
}
