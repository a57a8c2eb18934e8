// Before the page is drawn: the theme that was chosen on this browser, if any.
const chosen = localStorage.getItem("guide-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
