import { test } from "node:test";
import { MockAgent, setGlobalDispatcher } from "undici";
import { RATE, RATES, rates, story } from "../story.cjs";

const agent = new MockAgent();
agent.disableNetConnect();
agent.get(new URL(RATES).origin).intercept({ path: "/" }).reply(200, RATE);
setGlobalDispatcher(agent);
const { withPayments } = await import("payments-emulator");

test("beside MockAgent", withPayments(async (payments) => {
  await rates();
  await story(payments);
}));
