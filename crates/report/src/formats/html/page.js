"use strict";
(() => {
  const form = document.querySelector("form");
  if (!form) return;
  const articles = [...document.querySelectorAll("article")];
  const texts = articles.map((article) => article.textContent.toLowerCase());
  const bars = [...document.querySelectorAll("button.bar")];
  const keys = ["status", "severity", "policy", "namespace", "resource"];
  const shown = document.getElementById("shown");
  const filter = () => {
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    articles.forEach((article, i) => {
      const fits = keys.every((key) => form.elements[key].value === "" || article.dataset[key].split("\n").includes(form.elements[key].value)) && words.every((word) => texts[i].includes(word));
      article.hidden = !fits;
      count += fits ? 1 : 0;
    });
    bars.forEach((bar) => bar.setAttribute("aria-pressed", String(form.elements[bar.dataset.key].value === bar.dataset.value)));
    shown.textContent = `${count} of ${articles.length}`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  bars.forEach((bar) => bar.addEventListener("click", () => {
    const select = form.elements[bar.dataset.key];
    select.value = select.value === bar.dataset.value ? "" : bar.dataset.value;
    filter();
  }));
  const move = (step) => {
    const visible = articles.filter((article) => !article.hidden);
    const at = visible.indexOf(document.activeElement.closest("article"));
    const next = visible[at < 0 ? (step > 0 ? 0 : visible.length - 1) : at + step];
    if (next) { next.focus(); next.scrollIntoView({ block: "center" }); }
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { form.reset(); document.activeElement.blur(); return; }
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") { event.preventDefault(); form.elements.search.focus(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
  });
  filter();
})();
