// One emulator for a whole run, for `globalSetup` of vitest and jest: the processes of the tests find it in the environment.

const { startServer } = require("./index.cjs");

module.exports = async function setup() {
  if (process.env.PAYMENTS_EMULATOR_URL) return () => {};
  const server = await startServer();
  process.env.PAYMENTS_EMULATOR_URL = server.url;
  return () => server.stop();
};
