import { test } from "node:test";
import { RATE, RATES, rates, story } from "../story.cjs";

// Version 15 needs Node 22.
const major = Number(process.versions.node.split(".")[0]);
const { default: nock } = await import(major < 22 ? "nock14" : "nock");
nock.disableNetConnect();
// It is at work already when the module is loaded.
const { withPayments } = await import("payments-emulator");

test("beside nock", withPayments(async (payments) => {
  nock(RATES).get("/").twice().reply(200, RATE);
  await rates();
  await story(payments);
  nock.restore();
  nock.activate();
  await rates();
  await story(payments);
  nock.restore();
}));
