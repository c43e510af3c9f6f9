// A provider's connection page: a press starts the work and shows, line by line, what the server says of it.
const page = document.getElementById("connection");
const token = page.querySelector("[name=csrfmiddlewaretoken]").value;
const SHAPES = { true: "●", false: "✕" };

for (const form of page.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!form.ariaBusy || form.ariaBusy === "false") press(form);
  });
}

async function press(form) {
  const section = form.closest("section");
  busy(form, true);
  slot(section, "report").hidden = true;
  try {
    for await (const line of lines(await send(form))) show(section, line);
  } catch (error) {
    showReport(section, { ok: false, headline: error.message || page.dataset.failed });
  }
  slot(section, "now").hidden = true;
  busy(form, false);
}

/** The button keeps the focus: it is told to be busy, not disabled. */
function busy(form, isBusy) {
  form.ariaBusy = String(isBusy);
  form.querySelector("button").ariaDisabled = String(isBusy);
}

async function send(form) {
  const answer = await fetch(form.getAttribute("action"), {
    method: "POST",
    headers: {
      Accept: "application/x-ndjson, application/json;q=0.5",
      "Content-Type": "application/json",
      "X-CSRFToken": token,
    },
    body: JSON.stringify(Object.fromEntries(new FormData(form))),
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

function show(section, line) {
  if (line.type === "error") throw new Error(line.error.message);
  if (line.type === "done") return showReport(section, line);
  const now = slot(section, "now");
  now.textContent = line.words;
  now.hidden = false;
}

function showReport(section, report) {
  const element = slot(section, "report");
  element.dataset.ok = report.ok;
  slot(section, "shape").textContent = SHAPES[report.ok];
  put(section, "headline", report.headline);
  put(section, "message", report.message);
  put(section, "said", report.said);
  put(section, "facts", report.facts?.join(" · "));
  showModels(slot(section, "models"), report.models ?? []);
  for (const [name, hidden] of [["so-far", true], ["next", !report.ok]]) {
    const extra = slot(section, name);
    if (extra) extra.hidden = hidden;
  }
  element.hidden = false;
}

function showModels(element, models) {
  element.hidden = models.length === 0;
  element.querySelector("ul").replaceChildren(
    ...models.map((name) => Object.assign(document.createElement("li"), { textContent: name })),
  );
}

function put(section, name, text) {
  slot(section, name).textContent = text ?? "";
  slot(section, name).hidden = !text;
}

function slot(section, name) {
  return section.querySelector(`[data-slot=${name}]`);
}
