// “Try N at once”: a press starts the trial and shows, line by line, where it stands; the last line is the report.
const page = document.getElementById("together");
const form = page.querySelector("form");
const COLUMNS = ["word", "said", "waited", "took", "against", "verdict"];
const FIGURES = new Set(["waited", "took", "against"]);

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (form.ariaBusy !== "true") press();
});

async function press() {
  busy(true);
  slot("report").hidden = true;
  try {
    for await (const line of lines(await send())) show(line);
  } catch (error) {
    showReport({ headline: error.message || page.dataset.failed });
  }
  slot("now").hidden = true;
  busy(false);
}

/** The button keeps the focus: it is told to be busy, not disabled. */
function busy(isBusy) {
  form.ariaBusy = String(isBusy);
  form.querySelector("button").ariaDisabled = String(isBusy);
}

async function send() {
  const fields = Object.fromEntries(new FormData(form));
  const answer = await fetch(form.getAttribute("action"), {
    method: "POST",
    headers: {
      Accept: "application/x-ndjson, application/json;q=0.5",
      "Content-Type": "application/json",
      "X-CSRFToken": fields.csrfmiddlewaretoken,
    },
    body: JSON.stringify({ model: fields.model, count: Number(fields.count) }),
  });
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error?.message ?? "");
  return answer.body.pipeThrough(new TextDecoderStream());
}

async function* lines(stream) {
  const reader = stream.getReader();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (rest + read.value).split("\n");
    rest = parts.pop();
    yield* parts.map((part) => JSON.parse(part));
  }
}

function show(line) {
  if (line.type === "error") throw new Error(line.error.message);
  if (line.type === "done") return showReport(line);
  slot("now").textContent = line.words;
  slot("now").hidden = false;
}

function showReport(report) {
  put("headline", report.headline);
  put("facts", report.facts?.join(" · "));
  put("proposal", report.proposal);
  slot("notes").replaceChildren(...(report.notes ?? []).map((note) => element("li", note)));
  slot("notes").hidden = !report.notes?.length;
  const calls = report.calls ?? [];
  slot("calls").hidden = calls.length === 0;
  slot("calls").querySelector("tbody").replaceChildren(...calls.map(row));
  slot("report").hidden = false;
}

function row(call) {
  const labels = [...slot("calls").querySelectorAll("thead th")].map((head) => head.textContent);
  const cells = COLUMNS.map((name, place) => {
    const cell = element(place ? "td" : "th", call[name]);
    if (!place) cell.scope = "row";
    if (FIGURES.has(name)) cell.className = "number";
    cell.dataset.label = labels[place];
    return cell;
  });
  const verdict = element("span", call.why ? `${call.verdict}: ${call.why}` : call.verdict);
  verdict.className = `light ${call.tone}`;
  cells.at(-1).replaceChildren(verdict);
  const line = element("tr", "");
  line.append(...cells);
  return line;
}

function put(name, text) {
  slot(name).textContent = text ?? "";
  slot(name).hidden = !text;
}

function element(name, text) {
  return Object.assign(document.createElement(name), { textContent: text });
}

function slot(name) {
  return page.querySelector(`[data-slot=${name}]`);
}
