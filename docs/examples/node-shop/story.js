// Some days at the club, to be tried with every fault: payments-emulator test app --reuse -- node story.js
// It does what members and the club do, and checks what must be true in the end, whatever was lost on the way.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { Shop } from "./shop.js";

const PAYS = "+24177000000";
const TOO_LITTLE_MONEY = "+24177000001";

// What the club does not do itself: time passes, money is looked for.
async function control(method, path, body) {
  const { PAYMENTS_EMULATOR_URL: url, PAYMENTS_EMULATOR_KEY: key } = process.env;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(`${url}/_emulator${path}`, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
}

async function story() {
  const shop = new Shop(process.env.PAYMENTS_EMULATOR_URL, process.env.PAYMENTS_EMULATOR_KEY);
  await control("POST", "/clock/freeze", {});
  await shop.open();

  try {
    // A browser can send anything, a price too.
    const awa = await shop.signUp({ email: "awa@example.com", phone: PAYS, price: 100 });
    const [charged] = (await control("GET", "/objects?kind=invoice")).data;
    assert.equal(charged.total, 5000, `the member paid ${charged.total} for what costs 5000`);

    const ben = await shop.signUp({ email: "ben@example.com", phone: TOO_LITTLE_MONEY });
    await control("POST", "/clock/advance", { by: "0s" });
    assert.notEqual(shop.members.get(ben.id), "active", "a member came in who had not paid");
    await shop.call("PATCH", `/v1/customers/${ben.id}/`, { phone: PAYS });

    // The operator may take an hour for an answer.
    await control("POST", "/clock/advance", { by: "2h" });
    for (const click of ["first", "second"]) assert.ok(await shop.refund(awa, 1000), click);
    const refunds = (await control("GET", "/objects?kind=refund")).data;
    assert.equal(refunds.length, 1, `${refunds.length} refunds were made of one`);

    await assert.rejects(shop.signUp({ email: "no address", phone: PAYS }), /: 422 /);

    // What was delayed arrives, then the club does what it does every night.
    await control("POST", "/clock/advance", { by: "3d" });
    await shop.reconcile();
    assert.equal(shop.members.get(awa.id), "active", `a member who paid is ${shop.members.get(awa.id)}`);
    assert.equal(shop.members.get(ben.id), "active", `a member who paid is ${shop.members.get(ben.id)}`);
    assert.equal(shop.months.get(awa.id), 1, `${shop.months.get(awa.id)} months were counted of one that was paid`);
  } finally {
    shop.server.closeAllConnections();
    await shop.close();
  }
}

// With `test app --reuse` one case after another comes, a line with the variables of each.
const cases = process.env.PAYMENTS_EMULATOR_CASES ? createInterface({ input: process.stdin }) : ["{}"];
for await (const variables of cases) {
  Object.assign(process.env, JSON.parse(variables));
  await story();
  console.log('{"done": true}');
}
