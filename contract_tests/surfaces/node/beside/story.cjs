// Parts of a test of an application, for a world that must not notice which tools are at work beside it.
"use strict";

const assert = require("node:assert/strict");

/** A request, a webhook that is passed on to the application, and time that passes. */
async function story(payments) {
  let received = 0;
  await payments.webhooks.listen(["invoice.paid"], { security_profile: "JWT" });
  await payments.webhooks.forwardTo((request, response) => {
    received += 1;
    request.resume().on("end", () => response.writeHead(204).end());
  });
  await payments.trigger("invoice.paid");
  const { genuine, status } = payments.webhooks.deliveries[0];
  assert.deepEqual({ genuine, status, received }, { genuine: true, status: 204, received: 1 });
  const { events } = await payments.clock.advance("1d");
  assert.deepEqual(events, {});
}

/** A webhook that never comes is waited for by real time. */
async function limit(payments) {
  const wait = payments.webhooks.waitFor("refund.failed", { timeout: 0.2 });
  await assert.rejects(wait, /no webhook refund\.failed arrived within 0\.2 s/);
}

const RATES = "https://rates.example.com/";
const RATE = { XAF: 655.957 };

/** The fake of another service answers the application. */
async function rates() {
  assert.deepEqual(await (await fetch(RATES)).json(), RATE);
}

module.exports = { limit, RATE, RATES, rates, story };
