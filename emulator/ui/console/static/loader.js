// Every page works without its script, which is fetched once the page is painted: a fetch before that delays the paint.
const { module } = document.currentScript.dataset;
addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => import(module))));
