// "Add provider": choosing a preset shows what it brings; what a person has typed stays.
(() => {
  const facts = JSON.parse(document.getElementById("preset-facts").textContent);
  const preset = document.getElementById("id_vendor");
  const notes = document.getElementById("preset-notes");
  const fields = ["base_url", "lanes", "wait_timeout_s", "run_timeout_s"];

  preset.closest("div").parentElement.append(notes);

  function show() {
    const chosen = facts[preset.value] || {};
    for (const name of fields) {
      document.getElementById("id_" + name).placeholder = chosen[name] ?? "";
    }
    notes.textContent = chosen.notes || "";
    notes.hidden = !chosen.notes;
  }

  preset.addEventListener("change", show);
  show();
})();
