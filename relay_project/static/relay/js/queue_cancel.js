// Staff: a ticket's × asks once, then takes it out of line. The list itself follows with the next picture.
import { put } from "./clocks.js";
import { slot } from "./drawing.js";
import { say } from "./words.js";

const NOT_IN_LINE = 404;

export function armCancel(root, announce) {
  const dialog = document.getElementById("cancel");
  if (!dialog) return;
  let ticket = "";

  root.addEventListener("click", (event) => {
    const button = event.target.closest(".cancel");
    if (!button) return;
    ticket = button.dataset.ticket;
    put(slot(dialog, "which"), button.dataset.which);
    put(slot(dialog, "problem"), "");
    dialog.returnValue = "";
    dialog.showModal();
  });

  dialog.querySelector("form").addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "cancel") return;
    event.preventDefault();
    event.submitter.disabled = true;
    const outcome = await send(ticket);
    event.submitter.disabled = false;
    if (outcome === "failed") return put(slot(dialog, "problem"), say("said", outcome));
    dialog.close();
    announce(say("said", outcome));
  });

  async function send(id) {
    const token = dialog.querySelector("[name=csrfmiddlewaretoken]").value;
    const address = root.dataset.cancel.replace("TICKET", encodeURIComponent(id));
    try {
      const answer = await fetch(address, { method: "POST", headers: { "X-CSRFToken": token } });
      if (answer.status === NOT_IN_LINE) return "gone";
      return answer.ok && !answer.redirected ? "cancelled" : "failed";
    } catch {
      return "failed"; // unreachable: the dialog stays open and says so
    }
  }
}
