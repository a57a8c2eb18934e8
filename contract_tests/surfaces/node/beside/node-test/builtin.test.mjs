import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { mock, test } from "node:test";
import { withPayments } from "payments-emulator";
import { limit, RATE, rates, story } from "../story.cjs";

test("beside a stubbed fetch", withPayments(async (payments) => {
  const stub = mock.method(globalThis, "fetch", async () => Response.json(RATE));
  try {
    await rates();
    await story(payments);
  } finally {
    stub.mock.restore();
  }
}));

for (const now of [new Date("2001-01-31T00:00:00Z"), new Date("2099-01-31T00:00:00Z")]) {
  test(`beside mock.timers, at ${now.toJSON()}`, async () => {
    mock.timers.enable({ now });
    try {
      await withPayments(async (payments) => {
        await story(payments);
        await limit(payments);
      })();
      assert.equal(Date.now(), now.getTime());
    } finally {
      mock.timers.reset();
    }
  });
}

test("a tool that forbids every connection of the tests", withPayments(async (payments) => {
  const refuse = () => {
    throw new Error("no connection is allowed");
  };
  const fakes = [[net.Socket.prototype, "connect"], [http, "request"], [http, "ClientRequest"]];
  const mocks = fakes.map(([owner, name]) => mock.method(owner, name, refuse));
  try {
    await story(payments);
  } finally {
    for (const each of mocks) each.mock.restore();
  }
}));

test("a connection that fails says why", async () => {
  const { Emulator } = await import("payments-emulator");
  await assert.rejects(Emulator.open({ url: "http://127.0.0.1:1" }), /no emulator answers at .*: connect ECONNREFUSED/);
  await assert.rejects(Emulator.open({ url: "ftp://127.0.0.1:1" }), /no emulator answers at ftp/);
});
