// Light or dark, before the first paint. The choice is the admin's own ("adminTheme" is where Unfold keeps it), so
// one switch serves both.
(() => {
  const root = document.documentElement;

  function stored() {
    try {
      const value = JSON.parse(localStorage.getItem("adminTheme"));
      return ["light", "dark"].includes(value) ? value : "auto";
    } catch {
      return "auto"; // storage is off, or holds something else: follow the system
    }
  }

  function show(theme) {
    root.classList.toggle("light", theme === "light");
    root.classList.toggle("dark", theme === "dark");
    for (const button of document.querySelectorAll("[data-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
    }
  }

  function choose(theme) {
    localStorage.setItem("adminTheme", JSON.stringify(theme));
    show(theme);
  }

  show(stored());
  addEventListener("storage", () => show(stored()));
  addEventListener("DOMContentLoaded", () => {
    show(stored());
    for (const button of document.querySelectorAll("[data-theme]")) {
      button.addEventListener("click", () => choose(button.dataset.theme));
    }
  });
})();
