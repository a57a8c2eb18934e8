#!/usr/bin/env node
// npx payments-emulator serve: the emulator's own command line, or where no Python is there its image.
"use strict";

const { spawn } = require("node:child_process");
const { command } = require("./command.cjs");
const { config } = require("./package.json");

const CONTAINER = ["docker", "run", "--rm", "--init", "--publish", "127.0.0.1:4747:4747", config.image];
const SIGNALS = ["SIGINT", "SIGTERM"];

const [program, ...given] = [...(command() ?? CONTAINER), ...process.argv.slice(2)];
const child = spawn(program, given, { stdio: "inherit" });
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
child.on("error", () => {
  console.error("payments-emulator: needs Python 3.11 or newer, with pip and venv, or Docker");
  process.exit(2);
});
child.on("exit", (status, signal) => process.exit(signal ? 130 : status));
