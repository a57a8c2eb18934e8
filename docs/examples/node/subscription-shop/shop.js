// A shop that sells subscriptions. It keeps each as it was read last, and reads it again on every event.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

export const PLANS = {
  basic: { amount: 2000 },
  premium: { amount: 5000 },
  trial: { amount: 5000, trial_period_days: 14 },
}; // what a month costs, in francs

export const EVENTS = [
  "checkout.session.completed",
  "invoice.paid",
  "subscription.payment_failed",
  "subscription.trial_will_end",
  "subscription.canceled",
];

const GRACE = 3 * 24 * 60 * 60 * 1000; // how long an account keeps access after a renewal that failed
const PAUSES = [1, 2, 4]; // seconds before each further attempt at a request

export class Shop {
  constructor(url, key, secret) {
    Object.assign(this, { url, key, secret, pauses: PAUSES });
    this.plans = {};
    this.sessions = new Map(); // a checkout session that is not known to be complete: its account
    this.customers = new Map(); // an account: its customer at the service
    this.subscriptions = new Map(); // an account: its subscription as it was read last
    this.reminders = new Set(); // accounts to be told that their trial ends
  }

  // Makes the plans, once: the same key makes the same plan.
  async open() {
    for (const [name, own] of Object.entries(PLANS)) {
      const terms = { name, currency: "XAF", interval: "month", ...own };
      this.plans[name] = (await this.#call("POST", "/v1/subscription-plans/", terms, `plan-${name}`)).id;
    }
  }

  // Begins a subscription; where the buyer pays it. An account is an address for emails.
  async subscribe(account, plan) {
    const session = await this.#call("POST", "/v1/checkout-sessions/", {
      mode: "subscription",
      currency: "XAF",
      success_url: "https://shop.example.com/thanks",
      customer_email: account,
      line_items: [{ plan: this.plans[plan] }],
    });
    this.sessions.set(session.id, account);
    return session.url;
  }

  hasAccess(account, now = new Date()) {
    const subscription = this.subscriptions.get(account);
    if (!subscription) return false;
    const { status, current_period_start: start, current_period_end: end } = subscription;
    if (["past_due", "unpaid"].includes(status)) { // the current period is the unpaid one
      return now < new Date(start).getTime() + (status === "past_due" ? GRACE : 0);
    }
    return ["trialing", "active"].includes(status) && now < new Date(end).getTime() + GRACE;
  }

  // Moves to another plan; it counts from the next period on.
  changePlan(account, plan) {
    return this.#change(account, { plan: this.plans[plan] });
  }

  // Ends the subscription with the period that is paid.
  cancel(account) {
    return this.#change(account, { cancel_at_period_end: true });
  }

  // Takes back a cancellation before the period ends.
  keep(account) {
    return this.#change(account, { cancel_at_period_end: false });
  }

  // Charges another phone from now on.
  async payWith(account, phone) {
    // Only a sandbox has this: at the service the buyer saves a method in a checkout session in setup mode.
    const method = { customer: this.customers.get(account), type: "mobile_money", phone };
    const { id } = await this.#call("POST", "/v1/payment-methods/", method, `phone-${account}-${phone}`);
    await this.#change(account, { payment_method: id });
  }

  // Where the buyer pays what is owed, without waiting for the next retry or after the last; undefined if nothing is.
  // An uncollectible invoice, whose last retry failed, can still be paid on its page; then the subscription is active again.
  async payNow(account) {
    // Not POST /v1/invoices/{id}/pay/, which records money that came another way.
    return (await this.#invoices(account, "open,uncollectible"))[0]?.payment_url;
  }

  // Pays back the last payment. A second click on the button pays nothing more.
  async refund(account) {
    const [invoice] = await this.#invoices(account, "paid");
    return this.#call("POST", "/v1/refunds/", { transaction: invoice.transaction }, `refund-${invoice.id}`);
  }

  // Every night: looks up what no webhook has said. That a subscription is `unpaid` has no event at all.
  async reconcile() {
    for (const session of [...this.sessions.keys()]) await this.#lookAtSession(session);
    for (const account of this.customers.keys()) await this.#lookUp(account);
  }

  async #lookAtSession(id) {
    const session = await this.#call("GET", `/v1/checkout-sessions/${id}/`);
    if (session.status !== "complete") return;
    this.sessions.delete(id);
    this.customers.set(session.customer_email, session.customer);
    await this.#lookUp(session.customer_email);
  }

  // An event may come twice, late, or in another order: what counts is what is so now.
  async #lookUp(account) {
    const { data } = await this.#call("GET", `/v1/subscriptions/?customer=${this.customers.get(account)}`);
    if (data.length) this.subscriptions.set(account, data[0]);
  }

  async #change(account, fields) {
    const { id } = this.subscriptions.get(account);
    this.subscriptions.set(account, await this.#call("PATCH", `/v1/subscriptions/${id}/`, fields));
  }

  // The invoices with this status, the newest first.
  async #invoices(account, status) {
    const { id } = this.subscriptions.get(account);
    return (await this.#call("GET", `/v1/invoices/?subscription=${id}&status=${status}`)).data;
  }

  // The webhook receiver, as a request listener.
  receive = async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const isGenuine = this.#signed(request.headers["service-signature"], body);
    if (isGenuine) await this.#handle(JSON.parse(body));
    response.writeHead(isGenuine ? 200 : 401).end();
  };

  #signed(signature, body) {
    const expected = createHmac("sha256", this.secret).update(body).digest();
    const given = Buffer.from(signature ?? "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  async #handle({ type, data: { object } }) {
    if (type === "checkout.session.completed" && this.sessions.has(object.id)) return this.#lookAtSession(object.id);
    const [account] = [...this.customers].find(([, customer]) => customer === object.customer) ?? [];
    if (!account) return;
    await this.#lookUp(account);
    if (type === "subscription.trial_will_end") this.reminders.add(account);
  }

  // The answer to a request, which is sent again, as the same one, if it is not known whether it was done.
  async #call(method, path, body, key = randomUUID()) {
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
}
