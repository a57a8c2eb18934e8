// How the emulator is called: the command that pip installed or, in a released package, one that is installed for this user.
"use strict";

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { config, version } = require("./package.json");

const WINDOWS = process.platform === "win32";
const PYTHONS = WINDOWS ? ["py", "python"] : ["python3", "python"];
const TOO_OLD = "import sys; sys.exit(sys.version_info < (3, 11))";

/** The program and its first arguments, or undefined where there is neither the command nor a Python that can have it. */
function command() {
  const named = process.env.PAYMENTS_EMULATOR_COMMAND;
  return named ? [named] : installed() ?? ownInstallation();
}

/** The command on the path, but not this package's own, which npm puts there. */
function installed() {
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    const file = path.join(folder, WINDOWS ? "payments-emulator.exe" : "payments-emulator");
    if (fs.existsSync(file) && path.basename(fs.realpathSync(file)) !== "bin.cjs") return [file];
  }
  return undefined;
}

/** An environment in the user's cache, made on first use. What pip installs: PAYMENTS_EMULATOR_PACKAGE, else this release. */
function ownInstallation() {
  const wanted = process.env.PAYMENTS_EMULATOR_PACKAGE ?? config.package;
  if (!wanted) return undefined;
  const caches = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache");
  const folder = path.join(caches, "payments-emulator", version);
  if (!fs.existsSync(folder) && !install(wanted, folder)) return undefined;
  return [pythonOf(folder), "-m", "emulator.cli.main"];
}

const pythonOf = (folder) => path.join(folder, WINDOWS ? "Scripts\\python.exe" : "bin/python");

/** Whether the package is now installed in the folder. Another process may be at it: the first one to end provides it. */
function install(wanted, folder) {
  const python = PYTHONS.find((name) => spawnSync(name, ["-c", TOO_OLD]).status === 0);
  if (!python) return false;
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  const made = fs.mkdtempSync(`${folder}-`);
  process.stderr.write(`payments-emulator: installing ${wanted} into ${folder}, once\n`);
  const steps = [
    [python, "-m", "venv", made],
    [pythonOf(made), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted],
  ];
  const failed = steps.find(([program, ...given]) => spawnSync(program, given, { stdio: ["ignore", 2, 2] }).status !== 0);
  if (!failed && !fs.existsSync(folder)) {
    try {
      fs.renameSync(made, folder);
    } catch (error) {
      if (!fs.existsSync(folder)) throw error;
    }
  }
  fs.rmSync(made, { recursive: true, force: true });
  return fs.existsSync(folder);
}

module.exports = { command };
