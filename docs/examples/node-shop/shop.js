// A small subscription shop: signs customers up, and hears by webhook who has paid.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";

export class Shop {
  constructor(url, key) {
    this.url = url;
    this.key = key;
    this.members = new Map(); // customer's id: "active" or "overdue"
    this.handled = new Set();
    this.server = createServer((request, response) => this.#hear(request, response));
  }

  // Listens for webhooks on a free port of this machine and registers them.
  async open() {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    const url = `http://127.0.0.1:${this.server.address().port}/webhooks`;
    const events = ["transaction.succeeded", "subscription.payment_failed", "subscription.canceled"];
    const endpoint = await this.call("POST", "/v1/webhooks/", { name: "Shop", url, events });
    this.secret = endpoint.secret;
    this.plan = await this.call("POST", "/v1/subscription-plans/", {
      name: "Premium",
      amount: 5000,
      currency: "XAF",
      interval: "month",
    });
  }

  async signUp(email, phone) {
    const customer = await this.call("POST", "/v1/customers/", { email, name: "Awa Diop", phone });
    await this.call("POST", "/v1/subscriptions/", { customer: customer.id, plan: this.plan.id });
    return customer;
  }

  async call(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${told.code ?? told.error?.code}`);
    return told;
  }

  async #hear(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const event = JSON.parse(body);
    // The ping that tries the address comes before anybody knows the secret.
    const genuine = event.type === "webhook.ping" || this.#signed(request.headers["service-signature"], body);
    if (genuine) this.#handle(event);
    response.writeHead(genuine ? 200 : 401, { connection: "close" }).end();
  }

  #signed(signature, body) {
    const expected = createHmac("sha256", this.secret).update(body).digest();
    const given = Buffer.from(signature ?? "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  #handle({ id, type, data }) {
    // An event may arrive twice; the second time there is nothing left to do.
    if (this.handled.has(id)) return;
    this.handled.add(id);
    const customer = data.object.customer;
    if (type === "transaction.succeeded") this.members.set(customer, "active");
    if (type === "subscription.payment_failed") this.members.set(customer, "overdue");
    if (type === "subscription.canceled") this.members.delete(customer);
  }

  async close() {
    this.server.close();
    await once(this.server, "close");
  }
}
