// A small subscription shop: signs customers up, and hears by webhook who has paid.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const PAUSES = [1, 2, 4]; // seconds before each further attempt at a request

export class Shop {
  constructor(url, key) {
    this.url = url;
    this.key = key;
    this.members = new Map(); // customer's id: "active" or "overdue"
    this.months = new Map(); // customer's id: months paid
    this.counted = new Set(); // transactions: each is one month, however many events there are about it
    this.latest = new Map(); // customer's id: when the last event was, as far as is known
    this.pauses = PAUSES;
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
    }, "premium");
  }

  // A form is what a browser sends; of its fields only these count.
  async signUp({ email, phone }) {
    const customer = await this.call("POST", "/v1/customers/", { email, name: "Awa Diop", phone });
    await this.call("POST", "/v1/subscriptions/", { customer: customer.id, plan: this.plan.id });
    return customer;
  }

  // Pays back a part of the last payment. A second click on the button pays nothing more.
  async refund(customer, amount) {
    const { data } = await this.call("GET", `/v1/transactions/?customer=${customer.id}`);
    const transaction = data.find((each) => each.type === "deposit").id;
    return this.call("POST", "/v1/refunds/", { transaction, amount }, `refund-${transaction}-${amount}`);
  }

  // Every night: looks up what no webhook has said.
  async reconcile() {
    const { data } = await this.call("GET", "/v1/subscriptions/?page_size=100");
    for (const { customer, status } of data) {
      if (status === "active" && this.members.get(customer) !== "active") this.#welcome(customer);
    }
  }

  // The answer to a request, which is sent again, as the same one, if it is not known whether it was done.
  async call(method, path, body, key = randomUUID()) {
    for (let attempt = 0; ; attempt += 1) {
      const pause = this.pauses[attempt];
      let answer;
      let read;
      try {
        answer = await fetch(this.url + path, {
          method,
          headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json", "idempotency-key": key },
          body: body && JSON.stringify(body),
          signal: AbortSignal.timeout(10_000),
        });
        read = await answer.json();
      } catch (error) {
        if (pause === undefined) throw error;
      }
      if (read && answer.ok) return read;
      if (read && (pause === undefined || (answer.status < 500 && answer.status !== 429))) {
        throw new Error(`${method} ${path}: ${answer.status} ${read.code ?? read.error?.code}`);
      }
      await sleep(1000 * (answer?.headers.get("retry-after") ?? pause));
    }
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

  #handle({ type, data, created_at: at }) {
    const { id, customer } = data.object;
    // An event may arrive twice, or a second one about the same payment: then there is nothing left to do.
    if (type === "transaction.succeeded" && data.object.type === "deposit" && !this.counted.has(id)) {
      this.counted.add(id);
      this.months.set(customer, (this.months.get(customer) ?? 0) + 1);
    }
    // Events may come in any order: an older one does not undo what a newer one said.
    if (at < this.latest.get(customer)) return;
    this.latest.set(customer, at);
    if (type === "transaction.succeeded") this.members.set(customer, "active");
    if (type === "subscription.payment_failed") this.members.set(customer, "overdue");
    if (type === "subscription.canceled") this.members.delete(customer);
  }

  #welcome(customer) {
    this.members.set(customer, "active");
    if (!this.months.has(customer)) this.months.set(customer, 1);
  }

  async close() {
    this.server.close();
    await once(this.server, "close");
  }
}
