// Before the page is drawn: that scripts run, and the theme that was chosen on this browser, if any.
document.documentElement.dataset.scripted = "";
const chosen = localStorage.getItem("guide-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
