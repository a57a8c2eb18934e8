// What is optional is left empty: an example of a filter would be sent, and find nothing here.
const empty = (name, value) => value?.in === "query" && !value.required ? {...value, example: undefined} : value;

// The path of an operation is a link within a button in Swagger UI, and two controls in one place confuse keyboards and screen readers.
const plainPaths = ({React}) => ({wrapComponents: {DeepLink: () => ({text}) => React.createElement("span", null, text)}});

// The own layout of Swagger UI has a main part within that of the page, and headings that leave out a level.
const layout = ({React: {createElement: make}}) => ({components: {Explorer: ({getComponent, specSelectors}) => {
  if (!specSelectors.specJson().has("info")) return null; // what came before the document would move when it comes
  const part = name => make(getComponent(name, true));
  const wide = (...parts) => make("div", {className: "wrapper"}, ...parts);
  return make("div", {className: "swagger-ui"}, make(getComponent("SvgAssets")), wide(part("InfoContainer")),
    make("div", {className: "scheme-container"}, make("div", {className: "schemes wrapper"},
      make("div", {className: "schemes-server-container"}, part("ServersContainer")), part("AuthorizeBtnContainer"))),
    part("FilterContainer"), wide(make("h2", null, "Operations"), part("operations"), part("Models")),
    specSelectors.isOAS31() && wide(part("Webhooks")));
}}});

// Swagger UI leaves fields without names; they get those that stand beside them.
const NAMES = {
  "select": field => field.closest("tr")?.dataset.paramName ?? (field.closest(".servers") ? "Server" : "Media type"),
  "textarea": field => field.closest("tr")?.dataset.paramName ?? "Request body",
  "input": field => field.closest("tr")?.dataset.paramName ?? field.placeholder,
  ".copy-to-clipboard button": () => "Copy",
};

function name(explorer) {
  for (const [selector, called] of Object.entries(NAMES))
    for (const field of explorer.querySelectorAll(`${selector}:not([aria-label])`))
      // A label of which the field is all there is says nothing.
      if ([undefined, field.textContent].includes(field.labels?.[0]?.textContent) && called(field)) field.setAttribute("aria-label", called(field));
  for (const table of explorer.querySelectorAll("table[role=region]")) table.removeAttribute("role");
  const scrolling = ":is(pre, .renderedMarkdown table):not([tabindex])";
  for (const part of explorer.querySelectorAll(scrolling)) part.tabIndex = 0;
}

const place = document.getElementById("explorer");
new MutationObserver(() => name(place)).observe(place, {childList: true, subtree: true});
fetch(place.dataset.document).then(answer => answer.text()).then(text => {
  const explorer = SwaggerUIBundle({
    spec: JSON.parse(text, empty),
    dom_id: "#explorer",
    deepLinking: true,
    filter: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    plugins: [plainPaths, layout],
    layout: "Explorer",
    syntaxHighlight: {theme: "tomorrow-night"},
    onComplete: () => explorer.preauthorizeApiKey("secretKey", place.dataset.key),
  });
});
