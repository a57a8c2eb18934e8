// What the module needs of the outside: HTTP, a limit of time, and the date. Tests fake all three for the application, by
// `fetch`, `http`, sockets, timers and `Date` of their thread, before or after they load this module. So a thread of its own
// makes the requests and keeps the time, and a context of its own has the date.
"use strict";

const vm = require("node:vm");
const { Worker } = require("node:worker_threads");

const IDLE_LIMIT = 5_000; // milliseconds after which a thread with nothing to do ends

// A text, since a bundler moves files and a compiler changes functions.
const PROGRAM = `
  const http = require("node:http");
  const https = require("node:https");
  const { parentPort } = require("node:worker_threads");

  // An idle connection is closed before the server does it, which could meet a request on its way.
  const options = { keepAlive: true, timeout: 2_000 };
  const clients = {
    "http:": { request: http.request, agent: new http.Agent(options) },
    "https:": { request: https.request, agent: new https.Agent(options) },
  };
  const limits = new Map();
  let idle;

  function tell(message) {
    clearTimeout(idle);
    idle = setTimeout(() => parentPort.postMessage({ idle: true }), ${IDLE_LIMIT});
    parentPort.postMessage(message);
  }

  function send({ id, url, method, headers, body }) {
    const { request, agent } = clients[new URL(url).protocol];
    const failed = (error) => tell({ id, failure: error.message || error.code });
    const responded = (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("error", failed);
      response.on("end", () => tell({ id, status: response.statusCode, body: Buffer.concat(parts) }));
    };
    request(url, { method, headers, agent }, responded).on("error", failed).end(body);
  }

  function wait({ id, milliseconds }) {
    const over = () => limits.delete(id) && tell({ id });
    limits.set(id, setTimeout(over, milliseconds));
  }

  function stop({ id }) {
    clearTimeout(limits.get(id));
    limits.delete(id);
  }

  const tasks = { send, wait, stop };
  parentPort.on("message", (message) => {
    try {
      tasks[message.task](message);
    } catch (error) {
      tell({ id: message.id, failure: error.message });
    }
  });
`;

let thread;
let last = 0;
const waiting = new Map(); // by the id of a task, the functions that end its promise

function start() {
  // Nothing that the command line or NODE_OPTIONS loads into the threads of the tests is loaded into this one.
  const env = { ...process.env, NODE_OPTIONS: "" };
  const worker = new Worker(PROGRAM, { eval: true, execArgv: [], env });
  const failed = (failure) => {
    if (thread === worker) thread = undefined;
    for (const id of [...waiting.keys()]) done({ id, failure });
  };
  worker.on("message", (message) => {
    if (!message.idle) return done(message);
    if (waiting.size || thread !== worker) return undefined;
    thread = undefined;
    return worker.terminate();
  });
  worker.on("error", (error) => failed(error.message));
  worker.unref();
  return worker;
}

function done({ id, failure, ...result }) {
  const task = waiting.get(id);
  waiting.delete(id);
  if (!waiting.size) thread?.unref();
  if (failure === undefined) task?.resolve(result);
  else task?.reject(new Error(failure));
}

/** Have the thread do a task; while one is not done, the process does not end by itself. */
function begin(task) {
  thread ??= start();
  thread.ref();
  const id = ++last;
  const promise = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  thread.postMessage({ ...task, id });
  return { id, promise };
}

/** Make a request; the response has `status` and `body`, a Buffer. Redirects are not followed. */
async function send(url, { method, headers, body }) {
  const { status, body: received } = await begin({ task: "send", url: String(url), method, headers, body }).promise;
  return { status, body: Buffer.from(received) };
}

/** Wait for real time to pass; `over` is a promise, and `stop()` ends it before. */
function wait(milliseconds) {
  const { id, promise } = begin({ task: "wait", milliseconds });
  const stop = () => {
    if (!waiting.has(id)) return;
    thread?.postMessage({ task: "stop", id });
    done({ id });
  };
  return { over: promise, stop };
}

const RealDate = vm.runInNewContext("Date");

/** The real time in milliseconds. */
const realTime = () => RealDate.now();

module.exports = { realTime, send, wait };
