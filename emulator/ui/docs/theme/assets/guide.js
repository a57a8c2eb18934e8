// Search, copy buttons and the choice of a theme. Every page can be read without this script.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const base = document.documentElement.dataset.base;

// -- theme

const themes = { system: "System theme", light: "Light theme", dark: "Dark theme" };
const button = document.getElementById("theme");

function show(theme) {
  button.textContent = themes[theme];
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

show(document.documentElement.dataset.theme ?? "system");
button.addEventListener("click", () => {
  const names = Object.keys(themes);
  const next = names[(names.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % names.length];
  if (next === "system") localStorage.removeItem("guide-theme");
  else localStorage.setItem("guide-theme", next);
  show(next);
});

// -- tabs: one for all samples of a page, as it was chosen last

for (const group of all(".tabs")) {
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  for (const panel of all(".tab", group)) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.textContent = panel.dataset.name;
    tab.setAttribute("role", "tab");
    panel.id ||= `tab-${all(".tab").indexOf(panel)}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", panel.dataset.name);
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => {
      localStorage.setItem("guide-tab", panel.dataset.name);
      for (const tabs of all(".tabs")) choose(tabs, panel.dataset.name);
    });
    list.append(tab);
  }
  list.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const tabs = [...list.children];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
  group.prepend(list);
  group.classList.add("ready");
  choose(group, localStorage.getItem("guide-tab"));
}

function choose(group, name) {
  const panels = all(".tab", group);
  const chosen = panels.find((panel) => panel.dataset.name === name);
  if (!chosen && all("[aria-selected=true]", group).length) return;
  all("[role=tab]", group).forEach((tab, at) => {
    const shown = panels[at] === (chosen ?? panels[0]);
    tab.setAttribute("aria-selected", shown);
    tab.tabIndex = shown ? 0 : -1;
    panels[at].hidden = !shown;
  });
}

// -- tables that scroll can be reached by keyboard

const scrolling = new ResizeObserver(entries => {
  for (const { target } of entries)
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
});
for (const table of all("article table")) scrolling.observe(table);

// -- copy

for (const block of all("pre")) {
  block.tabIndex = 0; // it may scroll
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "Copy";
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1200);
  });
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  frame.append(block, copy);
}

// -- entries that are folded: the one in the address is open, and a filter shows some

function unfold() {
  const entry = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (entry?.matches("details")) {
    entry.open = true;
    entry.scrollIntoView();
  }
}

addEventListener("hashchange", unfold);
unfold();

const filter = document.getElementById("filter");
if (filter) {
  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("input", () => {
    const words = filter.querySelector("[type=search]").value.toLowerCase().split(/\s+/);
    const wanted = all(":checked", filter).map((box) => box.value);
    let count = 0;
    for (const entry of all(".area .entry")) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !(words.every((word) => text.includes(word)) && wanted.every((mark) => entry.dataset.is.includes(mark)));
      count += !entry.hidden;
    }
    for (const area of all(".area")) area.hidden = all(".entry:not([hidden])", area).length === 0;
    filter.querySelector("output").textContent = `${count}`;
  });
}

// -- search

const find = document.getElementById("find");
const found = document.getElementById("found");
find.disabled = false;
let worker = null;
let loaded = false;

function search() {
  if (worker === null) {
    worker = new Worker(`${base}/search/worker.js`);
    worker.addEventListener("message", ({ data }) => {
      if (data.allowSearch) {
        loaded = true;
        ask();
      }
      if (data.results) draw(data.results);
    });
    worker.postMessage({ init: true });
  } else if (loaded) ask();
}

function ask() {
  const query = find.value.trim();
  if (query.length > 2) worker.postMessage({ query });
  else found.hidden = true;
}

function draw(results) {
  found.replaceChildren(...results.slice(0, 12).map(entry));
  if (!results.length) found.textContent = "Nothing was found.";
  found.hidden = false;
}

function entry({ location, title, summary }) {
  const link = document.createElement("a");
  link.href = location.startsWith("/") ? location : `${base}/${location}`;
  const heading = document.createElement("strong");
  heading.textContent = title;
  const text = document.createElement("span");
  text.textContent = summary;
  link.append(heading, text);
  return link;
}

find.addEventListener("input", search);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") found.hidden = true;
  if (event.key !== "/" || event.target.closest("input, textarea")) return;
  event.preventDefault();
  find.focus();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".find")) found.hidden = true;
});
