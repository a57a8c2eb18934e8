// What is optional is left empty: an example of a filter would be sent, and find nothing here.
const empty = (name, value) => value?.in === "query" && !value.required ? {...value, example: undefined} : value;

// The path of an operation is a link within a button in Swagger UI, and two controls in one place confuse keyboards and screen readers.
const plainPaths = ({React}) => ({wrapComponents: {DeepLink: () => ({text}) => React.createElement("span", null, text)}});

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
      if (!field.labels?.length && called(field)) field.setAttribute("aria-label", called(field));
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
    plugins: [plainPaths],
    syntaxHighlight: {theme: "tomorrow-night"},
    onComplete: () => explorer.preauthorizeApiKey("secretKey", place.dataset.key),
  });
});
