// Two months at the bakery: two members, one of whom has no money for a while, and a trial.

import {
  BUGS, changePhone, complain, eachCase, endpoint, join, night, serve, tryOut,
} from "./bakery.mjs";

const PAYS = "+24177000000";
const TOO_LITTLE_MONEY = "+24177000001";

// Calls to the sandbox wait for webhooks, so they have time.
async function control(path, body, method = "POST") {
  const response = await fetch(process.env.PAYMENTS_EMULATOR_URL + path, {
    method,
    headers: {
      authorization: `Bearer ${process.env.PAYMENTS_EMULATOR_KEY}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const object = await response.json();
  if (response.status >= 300) throw new Error(`${path}: ${response.status} ${object.code}`);
  return object;
}

const advance = (by) => control("/_emulator/clock/advance", { by });

await eachCase(async () => {
  const server = await serve(0);
  const home = `http://127.0.0.1:${server.address().port}`;
  const events = [
    "invoice.paid", "subscription.payment_failed", "subscription.canceled",
    "checkout.session.completed", "refund.succeeded",
  ];
  const hook = { name: "Bakery", url: `${home}/webhooks`, events };
  const { id, secret } = await control("/v1/webhooks/", hook);
  endpoint.secret = secret;

  for (const email of ["awa@example.com", "ben@example.com"]) {
    await join(email, PAYS);
    await advance("1s");
  }

  const session = await tryOut("cyr@example.com", home);
  await tryOut("dia@example.com", home);
  const card = { number: "4242424242424242", exp_month: 12, exp_year: 2030, cvc: "123" };
  const method = { type: "bank_card", ...card };
  await control(`/_emulator/checkout-sessions/${session}/pay`, { method });
  await advance("1s");
  await fetch(`${home}/thanks?session=${session}`);
  await advance("20h");
  await night();

  const rolled = await control(`/v1/webhooks/${id}/roll-secret/`, {});
  if (!BUGS.has("old_secret")) endpoint.secret = rolled.secret;

  // Ben has no money when the second month begins, and has some two days later.
  const wishes = [];
  for (const phone of ["077 000 001", TOO_LITTLE_MONEY]) {
    wishes.push(await changePhone("ben@example.com", phone));
  }
  if (wishes.join() !== "false,true") throw new Error(`numbers were taken: ${wishes}`);
  await advance("31d");
  await changePhone("ben@example.com", PAYS);
  await advance("4d");
  await complain("awa@example.com");
  await advance("4d");
  await night();
  server.closeAllConnections();
  server.close();
});
