// Live updates: messages of the stream refresh the parts of the page that are marked data-live. Forms act without
// leaving the page, and keys are shortcuts. Every page works without this script.

const { stream, copied } = document.body.dataset;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const shown = new WeakMap(); // each live part's HTML as the server sent it last

// -- the clock

let updatedAt = performance.now();
let months; // made for the first clock that runs: a browser takes longer for it than for all the rest of this script
const two = (number) => String(number).padStart(2, "0");

function tick() {
  for (const part of all("[data-now]")) {
    if (part.dataset.mode !== "running") continue;
    const at = new Date(Date.parse(part.dataset.now) + (performance.now() - updatedAt) * Number(part.dataset.rate));
    if (Number.isNaN(at.getTime())) continue;
    months ??= new Intl.DateTimeFormat(document.documentElement.lang, { month: "short", timeZone: "UTC" });
    const time = part.querySelector("[data-clock] time");
    const text = `${at.getUTCDate()} ${months.format(at)} ${at.getUTCFullYear()}, ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
    if (time.textContent !== text) time.textContent = text;
  }
}

// -- parts that are refreshed

const parts = (page) => all("main [data-live], header [data-live]", page);
const names = (page) => parts(page).map((part) => part.id).join(" ");

const hasSameParts = (page, answer) => answer.ok && names(page) === names(document);

function update(page, answer, withNotice) {
  updatedAt = performance.now();
  if (!hasSameParts(page, answer)) return replaceMain(page);
  for (const fresh of parts(page)) {
    const old = document.getElementById(fresh.id);
    if (fresh.id === "notice" && !withNotice) continue;
    if (old.querySelector(":popover-open")) continue;
    if (shown.get(old) !== fresh.innerHTML) swap(old, fresh);
  }
}

function swap(old, fresh) {
  const keys = new Set(all("[data-key]", old).map((row) => row.dataset.key));
  const focused = old.contains(document.activeElement) ? positionOf(document.activeElement, old) : null;
  shown.set(old, fresh.innerHTML);
  old.replaceChildren(...document.importNode(fresh, true).childNodes);
  for (const row of all("[data-key]", old)) if (!keys.has(row.dataset.key)) row.classList.add("fresh");
  if (focused) elementAt(focused, old)?.focus({ preventScroll: true });
}

function replaceMain(page) {
  document.title = page.title;
  for (const id of ["main", "menu", "now"]) {
    const fresh = page.getElementById(id);
    if (fresh) document.getElementById(id).replaceChildren(...document.importNode(fresh, true).childNodes);
  }
  remember();
}

// The position of the focused element, to focus its successor after the HTML around it was replaced.
const focusable = (within) => all("a, button, input, select, textarea, summary, pre", within);
const positionOf = (element, within) => ({ key: element.closest("[data-key]")?.dataset.key, index: focusable(element.closest("[data-key]") ?? within).indexOf(element) });
const elementAt = ({ key, index }, within) => focusable((key && within.querySelector(`[data-key="${CSS.escape(key)}"]`)) || within)[index];

function remember() {
  for (const part of parts(document)) shown.set(part, part.innerHTML);
}

// -- the stream

let asking = false;
let again = false;
let pressed = false; // nothing is replaced while a pointer is down
let pendingForms = 0; // the response to a form decides which page comes next
let answeredForms = 0; // a page that was requested before the response to a form is out of date
let last = 0;

async function refresh() {
  if (asking || document.hidden) {
    again = true;
    return;
  }
  asking = true;
  await pause(Math.max(0, last + 250 - performance.now()));
  again = false;
  const before = answeredForms;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = await parsed(answer);
    if (pressed || answeredForms !== before || (pendingForms && !hasSameParts(page, answer))) again = true;
    else update(page, answer, false);
  } catch {
    // The server cannot be reached; the stream opens again when it can.
  }
  last = performance.now();
  asking = false;
  if (again && !pressed && !pendingForms) refresh();
}

addEventListener("pointerdown", () => (pressed = true));
for (const name of ["pointerup", "pointercancel"]) {
  addEventListener(name, () => {
    pressed = false;
    if (again) refresh();
  });
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const parsed = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");

let source = null;

function listen() {
  source?.close();
  source = new EventSource(stream);
  for (const name of ["request", "event", "delivery", "email", "clock", "reset"]) source.addEventListener(name, refresh);
  source.addEventListener("open", () => {
    showConnection(true);
    refresh();
  });
  source.addEventListener("error", () => {
    showConnection(false);
    // The browser reconnects by itself, except after an error status.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  });
}

function showConnection(on) {
  const indicator = document.querySelector(".live");
  indicator.classList.toggle("on", on);
  indicator.classList.toggle("off", !on);
}

// A browser opens few connections to one server, so hidden pages have none.
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : listen()));
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => event.persisted && listen());

// -- actions

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post" || !new URL(form.action).pathname.includes("/do/")) return;
  event.preventDefault();
  const button = event.submitter;
  if (button?.getAttribute("aria-busy") === "true") return;
  const body = new URLSearchParams(new FormData(form, button));
  const sheet = form.closest("[popover]");
  button?.setAttribute("aria-busy", "true");
  pendingForms += 1;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    const page = await parsed(answer);
    answeredForms += 1;
    if (sheet?.matches(":popover-open")) sheet.hidePopover();
    if (new URL(answer.url).pathname === location.pathname) update(page, answer, true);
    else showPage(answer.url, page);
    all("#notice").forEach((notice) => notice.scrollIntoView({ block: "nearest" }));
    markWrong(form);
  } catch {
    showConnection(false);
  } finally {
    pendingForms -= 1;
    button?.removeAttribute("aria-busy");
    if (again) refresh();
  }
});

// The fields that the notice names are marked, and the first has the focus, with the text below it, which calls a field as its
// label does.
function markWrong(form) {
  for (const field of all("[aria-invalid]", form)) field.removeAttribute("aria-invalid");
  for (const text of all(".wrong")) text.remove();
  const notice = document.querySelector("#notice [data-fields]");
  for (const name of (notice?.dataset.fields ?? "").split(" ").filter(Boolean)) {
    const field = [...form.elements].find((control) => control.type !== "hidden" && isAbout(control.name.split(":")[0], name));
    if (!field) continue;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", "wrong");
    if (field.labels?.length) notice.textContent = notice.textContent.replace(new RegExp(`${name.replaceAll(".", "\\.")}(?=\\s?: )`), field.labels[0].textContent.trim());
  }
  const first = form.querySelector("[aria-invalid]");
  if (!first) return;
  const text = document.createElement("p");
  text.id = text.className = "wrong";
  text.textContent = notice.textContent;
  first.after(text);
  first.focus();
}

const isAbout = (field, name) => field === name || field.startsWith(`${name}.`) || name.startsWith(`${field}.`);

// The response to a form may be another page.
function showPage(url, page) {
  history.pushState(null, "", withoutNotice(url));
  replaceMain(page);
  document.getElementById("main").focus();
}

function withoutNotice(url) {
  const address = new URL(url);
  address.searchParams.delete("notice");
  return address;
}

addEventListener("popstate", () => location.reload());

// -- controls that need a script; the style sheet hides them where none runs

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.textContent;
  button.textContent = copied;
  setTimeout(() => (button.textContent = label), 1200);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fill]");
  if (button) button.parentElement.querySelector("input").value = button.dataset.fill;
});

// A filter acts when it is chosen.
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.classList.contains("filters") && form.method === "get" && form.querySelector(".unscripted")) form.requestSubmit();
});

document.addEventListener("change", async (event) => {
  const field = event.target.closest("[data-file-for]");
  if (field && event.target.files[0]) document.getElementById(field.dataset.fileFor).value = await event.target.files[0].text();
});

// -- suggestions under the search field: pages and actions of the console, and the best matches

const find = document.getElementById("find");
const list = document.getElementById("suggestions");
find.setAttribute("role", "combobox");
find.setAttribute("aria-controls", list.id);
find.setAttribute("aria-autocomplete", "list");
find.setAttribute("aria-expanded", "false");
const chosenBy = new WeakMap(); // by an option, the link or button that it stands for
let typed = 0;

function suggest(targets) {
  list.replaceChildren(...targets.map(option));
  list.hidden = !targets.length;
  find.setAttribute("aria-expanded", String(!list.hidden));
  find.removeAttribute("aria-activedescendant");
}

function option(target, index) {
  const item = document.createElement("li");
  item.id = `suggestion-${index}`;
  item.role = "option";
  item.ariaSelected = "false";
  const shown = target.closest(".row") ?? target;
  if (shown.ariaLabel) item.textContent = shown.ariaLabel;
  else item.append(...document.importNode(shown, true).childNodes);
  chosenBy.set(item, target);
  return item;
}

function choose(item) {
  const target = chosenBy.get(item);
  suggest([]);
  if (!target) return;
  if (target.href) location.assign(target.href);
  else target.click();
}

const says = (target, text) => `${target.textContent} ${target.ariaLabel ?? ""} ${target.dataset.words}`.toLowerCase().includes(text);

function mark(by) {
  const options = [...list.children];
  const at = options.findIndex((option) => option.ariaSelected === "true");
  const chosen = options[(at + by + options.length + (at < 0 && by < 0 ? 1 : 0)) % options.length];
  for (const option of options) option.ariaSelected = String(option === chosen);
  if (chosen) find.setAttribute("aria-activedescendant", chosen.id);
  chosen?.scrollIntoView({ block: "nearest" });
}

find.addEventListener("input", async () => {
  const number = (typed += 1);
  const text = find.value.trim();
  if (!text) return suggest([]);
  const known = all("[data-words]").filter((target) => says(target, text.toLowerCase())).slice(0, 5);
  suggest(known);
  await pause(150);
  if (number !== typed) return;
  const address = new URL(find.form.action);
  for (const [name, value] of new FormData(find.form)) address.searchParams.set(name, value);
  address.searchParams.set("names", "1");
  try {
    const page = await parsed(await fetch(address, { headers: { Accept: "text/html" } }));
    if (number === typed) suggest([...known, ...all("#best a", page)]);
  } catch {
    // The server cannot be reached; the form says so when it is sent.
  }
});

find.addEventListener("keydown", (event) => {
  const chosen = list.querySelector("[aria-selected=true]");
  if (event.key === "Escape") suggest([]);
  else if (list.hidden) return;
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && chosen) choose(chosen);
  else return;
  event.preventDefault();
});

list.addEventListener("pointerdown", (event) => {
  event.preventDefault(); // the field keeps the focus, so that the list stays until the pointer is up
  const chosen = event.target.closest("[role=option]");
  if (chosen) addEventListener("pointerup", () => choose(chosen), { once: true });
});
find.addEventListener("blur", () => suggest([]));

// -- shortcuts

const enabled = document.getElementById("shortcuts");
enabled.checked = localStorage.getItem("shortcuts") !== "off";
enabled.addEventListener("change", () => localStorage.setItem("shortcuts", enabled.checked ? "on" : "off"));

const go = Object.fromEntries(all("[data-key-for]").map((entry) => [entry.dataset.key, entry.dataset.keyFor]));
let waiting = false;

const shortcuts = {
  "/": () => document.getElementById("find").focus(),
  "?": () => document.getElementById("help").togglePopover(),
  c: () => document.getElementById("steering").togglePopover() && document.querySelector("#steering [data-testid=advance-next]").focus(),
  j: () => step(1),
  k: () => step(-1),
  g: () => {
    waiting = true;
    setTimeout(() => (waiting = false), 1500);
  },
};

function step(by) {
  const rows = all("main .cover");
  const at = rows.indexOf(document.activeElement);
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    find.focus();
    return;
  }
  if (!enabled.checked || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const page = waiting && go[event.key] && document.querySelector(`[data-go="${go[event.key]}"]`);
  const action = page ? () => location.assign(page.href) : shortcuts[event.key];
  if (waiting && !page) waiting = false;
  if (!action) return;
  event.preventDefault();
  action();
});

// -- start

if (new URL(location.href).searchParams.has("notice")) history.replaceState(null, "", withoutNotice(location.href));
remember();
setInterval(tick, 250);
if (!document.hidden) listen();
