// Loaded before a suite: certifies each receiver to which a test forwards webhooks, and ends that test there. A line of
// the file that CERTIFIED names says which checks failed, and of which tests.
"use strict";

const { execFile } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const payments = require("payments-emulator");

const sound = new Set(); // the receivers that have passed, by their source: once is enough

async function certify(webhooks, receiver) {
  if (sound.has(receiver)) return;
  // The module's own receiver passes everything on and answers as the application does.
  const { url, secret } = await webhooks.endpoint();
  const output = await new Promise((resolve) =>
    execFile("payments-emulator", ["test", "receiver", url, "--secret", secret, "--timeout", "60", "--json"], (_, told, complained) =>
      resolve(told || complained),
    ),
  );
  const { checks, notes } = JSON.parse(output);
  const failed = checks.filter((check) => !check.passed);
  const where = path.basename(process.argv[1]);
  if (failed.length === 0) sound.add(receiver);
  fs.appendFileSync(process.env.CERTIFIED, `${JSON.stringify({ where, failed, notes })}\n`);
}

const { withPayments } = payments;
payments.withPayments = (...parts) => {
  const body = parts.pop();
  return withPayments(...parts, (emulator, ...more) => {
    const kind = Object.getPrototypeOf(emulator.webhooks);
    kind.certified ??= kind.forwardTo;
    kind.forwardTo = async function (...target) {
      await kind.certified.apply(this, target);
      await certify(this, String(target[0]));
      throw new Error("certified");
    };
    return body(emulator, ...more);
  });
};
