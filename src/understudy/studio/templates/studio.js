"use strict";
// The studio's one script. Names of columns and values are somebody else's text: they go in by textContent, never as markup.
const change = document.querySelector("meta[name=understudy-change]").content;
const find = (id) => document.getElementById(id);

function complain(message) {
  const box = find("error");
  box.textContent = message;
  box.hidden = !message;
  // In the middle, because the header that sticks to the top would cover it there.
  if (message) box.scrollIntoView({ block: "center" });
}

async function send(path, body, quietly = false) {
  if (!quietly) complain("");
  const form = body instanceof FormData;
  const headers = { "x-understudy-change": change };
  if (!form) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method: "POST", headers, body: form ? body : JSON.stringify(body) });
  } catch {
    complain("The studio does not answer. Is it still running?");
    return null;
  }
  const found = await answer.json().catch(() => ({ error: "The studio could not do this." }));
  if (found.error) { complain(found.error); return null; }
  return found;
}

async function sendAndGo(path, body) {
  const found = await send(path, body);
  if (found && found.go) location.assign(found.go);
}

function filter(box, items) {
  if (!box) return;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of document.querySelectorAll(items)) {
      const name = item.dataset.name.toLowerCase();
      item.hidden = !words.every((word) => name.includes(word));
    }
  });
}

// Choose
if (find("upload")) find("upload").addEventListener("submit", (event) => {
  event.preventDefault();
  sendAndGo("/upload", new FormData(event.target));
});

// Describe
const LISTS = ["categorical"], RANGES = ["integer", "real", "date", "datetime", "time"];
function fitDomain(row) {
  const type = row.querySelector(".type").value;
  row.querySelector(".list").hidden = !LISTS.includes(type);
  row.querySelector(".range").hidden = !RANGES.includes(type);
}
function columnOf(row) {
  const was = JSON.parse(row.dataset.column);
  const type = row.querySelector(".type").value;
  const column = type === was.type ? { ...was } : { name: was.name, type };
  const use = row.querySelector(".use").checked;
  if (use) delete column.use; else column.use = false;
  if (row.querySelector(".nullable").checked) delete column.nullable; else column.nullable = false;
  const role = row.querySelector(".role").value;
  if (role === "other") delete column.role; else column.role = role;
  if (LISTS.includes(type)) {
    const box = row.querySelector(".values");
    // One label a line, and every line as it is: a label may hold commas and spaces.
    const lines = box.value.split(/\r?\n/).filter((line) => line.trim());
    const learn = !lines.length || (lines.length === 1 && lines[0].trim() === "learn");
    // What nobody touched stays as the schema has it, labels with line breaks too.
    if (type !== was.type || box.value !== box.defaultValue) column.values = learn ? "learn" : lines;
  }
  if (RANGES.includes(type)) {
    for (const side of ["min", "max"]) {
      const text = row.querySelector("." + side).value.trim();
      if (text === "" || text === "learn") delete column[side];
      // As it was typed: what is no number is refused by the studio, not made into one.
      else if (text !== String(was[side])) column[side] = text;
    }
    if (!("min" in column) || !("max" in column)) { if (type !== "time") column.bounds = "learn"; } else delete column.bounds;
  }
  return column;
}
if (find("describe")) {
  const form = find("describe");
  for (const row of form.querySelectorAll("tbody tr")) {
    fitDomain(row);
    row.querySelector(".type").addEventListener("change", () => fitDomain(row));
  }
  filter(find("find"), "#columns tbody tr");
  // Who is who is never released, so the column that says it is an identifier.
  find("unit-id").addEventListener("change", () => {
    const row = [...form.querySelectorAll("tbody tr")].find((each) => each.dataset.name === find("unit-id").value);
    if (!row) return;
    row.querySelector(".type").value = "identifier";
    fitDomain(row);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const facts = JSON.parse(find("facts").textContent);
    facts.columns = [...form.querySelectorAll("tbody tr")].map(columnOf);
    const rules = find("impossible").value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (rules.length) facts.impossible = rules; else delete facts.impossible;
    const ticked = [...form.querySelectorAll(".rule:checked")].map((box) => JSON.parse(box.dataset.rule));
    if (ticked.length) facts.rules = [...(facts.rules ?? []), ...ticked];
    const id = find("unit-id").value, most = find("unit-rows").value.trim() || "1";
    const same = facts.unit && facts.unit.id === id && String(facts.unit.max_rows ?? 1) === most;
    if (!id && most === "1") delete facts.unit;
    else if (!same) facts.unit = id ? { id, max_rows: most } : { max_rows: most };
    sendAndGo(`/t/${encodeURIComponent(form.dataset.table)}/schema`, { schema: facts });
  });
  find("text").addEventListener("submit", (event) => {
    event.preventDefault();
    sendAndGo(`/t/${encodeURIComponent(form.dataset.table)}/schema`, { text: find("yaml").value });
  });
}

// Plan
const percent = (share) => (share === null ? "" : share < 0.001 ? "< 0.1 %" : (100 * share).toFixed(1) + " %");
if (find("plan")) {
  const form = find("plan");
  const epsilon = () => find("epsilon").value.trim();
  const slider = find("epsilon-slider");
  // The number is what counts; the slider is a quick way to write it, on a logarithmic scale.
  slider.addEventListener("input", () => { find("epsilon").value = Number((10 ** (Number(slider.value) / 100)).toPrecision(2)).toString(); complain(""); soon(); });
  find("epsilon").addEventListener("input", () => { const typed = Number(epsilon()); if (typed > 0) slider.value = 100 * Math.log10(typed); });
  const asked = () => ({
    table: form.dataset.table, epsilon: epsilon(), delta: find("delta").value.trim(), rows: find("rows").value.trim() || "5000",
    synthesizer: find("synthesizer").value, workload: find("workload").value.trim(), look: find("look").checked, risk: find("risk").checked, anyway: find("anyway").checked, control: find("control").value, target: find("target").value,
    analyst: find("analyst").value.trim(), purpose: find("purpose").value.trim(),
  });
  let turn = 0, timer = null;
  const line = (list, text) => { const item = document.createElement("li"); item.textContent = text; list.append(item); };
  async function replan() {
    const mine = ++turn;
    find("planning").textContent = "…";
    const found = await send("/api/plan", asked(), true); // a plan that comes late wipes away no refusal of a run
    if (mine !== turn) return;
    find("planning").textContent = "";
    if (!found) return;
    const outlook = find("outlook");
    outlook.replaceChildren();
    if (found.noise !== null) line(outlook, `Noise alone moves a measured table by ${percent(found.noise)} of the rows in the median.`);
    if (found.imagined !== null) line(outlook, `In a dry run on imagined rows, pairs of columns were off by ${percent(found.imagined)}.`);
    if (found.group !== null) line(outlook, `The smallest group that survives the noise in one column: ${found.group} rows.`);
    if (found.seconds !== null) line(outlook, `About ${found.seconds.toFixed(1)} seconds and ${Math.ceil(found.memory / 1048576)} MiB on this machine.`);
    for (const text of found.intervals) line(outlook, text);
    for (const warning of found.warnings) line(outlook, warning);
    find("figure").replaceChildren(new DOMParser().parseFromString(found.figure, "image/svg+xml").documentElement);
    find("meaning").replaceChildren(...found.meaning.map((text) => { const p = document.createElement("p"); p.textContent = text; return p; }));
    const body = find("marginals").tBodies[0];
    body.replaceChildren();
    for (const m of found.marginals) {
      const row = body.insertRow();
      for (const [text, number] of [[m.name, 0], [m.cells.toLocaleString("en"), 1], [m.deviation === null ? "" : "± " + m.deviation.toPrecision(3), 1], [percent(m.share), 1], [percent(m.expected), 1]]) {
        const cell = row.insertCell();
        cell.textContent = text;
        if (number) cell.className = "n";
      }
    }
    if (found.more) { const cell = body.insertRow().insertCell(); cell.textContent = `and ${found.more} smaller`; }
    find("assumed").replaceChildren();
    for (const text of found.assumed) line(find("assumed"), "assumed, and learned in the run: " + text);
  }
  // What a run spends is said beside its button, before it is pressed.
  const sayTotal = () => {
    const typed = Number(epsilon()), left = find("total").dataset.left;
    const paid = find("synthesizer").selectedOptions[0].dataset.paid === "1";
    let text = "";
    if (!paid) text = "Reads no rows and spends nothing.";
    else if (typed > 0) text = `One run spends ε = ${epsilon()}` + (left === undefined ? "." : ` of the ${left} that is left.`);
    find("total").textContent = text;
  };
  const soon = () => { sayTotal(); clearTimeout(timer); timer = setTimeout(replan, 250); };
  for (const id of ["epsilon", "delta", "rows", "synthesizer", "workload"]) find(id).addEventListener("input", () => { complain(""); soon(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); sendAndGo("/api/run", asked()); });
  // Exact, so that 3 times 0.1 is 0.3: the studio compares it with its own total.
  const total = (count) => {
    const [, digits, part = "", power = "0"] = /^(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(epsilon()) ?? [];
    return digits === undefined ? null : `${BigInt(digits + part || "0") * BigInt(count)}e${Number(power) - part.length}`;
  };
  find("modes").addEventListener("click", () => {
    const count = Number(find("modes").dataset.paid), agreed = total(count);
    if (agreed === null) { complain("ε must be a number above 0, such as 1 or 0.5."); return; }
    find("agree-total").textContent = `${count} times ε = ${epsilon()}, ε = ${Number(agreed)} in all.`;
    find("agree").showModal();
    find("agree-yes").onclick = () => { find("agree").close(); sendAndGo("/api/run", { ...asked(), modes: true, agreed }); };
  });
  find("agree-no").addEventListener("click", () => find("agree").close());
  soon();
}
if (find("open-account")) find("open-account").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  sendAndGo(`/t/${encodeURIComponent(form.dataset.table)}/account`, { epsilon: form.epsilon.value, delta: form.delta.value });
});

// Run
const OVER = ["done", "failed", "cancelled"];
async function look(run) {
  const answer = await fetch(`/api/run/${run}`).catch(() => null);
  const found = answer && answer.ok ? await answer.json() : null;
  if (found && found.account && find("account-spent")) find("account-spent").textContent = found.account;
  if (found && found.account && find("account-meter")) find("account-meter").value = found.total;
  return found;
}
if (find("progress") && !find("progress").hidden) {
  const run = find("progress").dataset.run;
  const began = find("progress").dataset.state, shown = find("progress").dataset.released === "1";
  find("cancel").addEventListener("click", () => { find("cancel").disabled = true; send(`/api/run/${run}/cancel`, {}); });
  let pause = 100; // a short run is seen to end soon, a long one is not asked about all the time
  const watch = async () => {
    const found = await look(run);
    if (found) {
      find("stage").textContent = found.state === "running" ? found.stage : found.state;
      find("bar").value = found.done;
      find("spent").textContent = found.spent ? `${Math.round(100 * found.spent)} % of the run's budget spent` : "";
      find("seconds").textContent = `${found.seconds} s`;
      find("message").textContent = found.message;
      find("message").hidden = !found.message;
      if (!shown) find("notes").replaceChildren(...found.notes.map((text) => { const item = document.createElement("li"); item.textContent = text; return item; }));
      if (found.released && !shown) { location.reload(); return; }
      if (OVER.includes(found.state)) {
        find("cancel").hidden = true;
        // Whoever reads the release already is asked before the page changes under their eyes.
        if (shown) find("fresh").hidden = false;
        else if (found.state === "done" && began !== "done") location.reload();
        return;
      }
    }
    pause = Math.min(400, 1.5 * pause);
    setTimeout(watch, pause);
  };
  watch();
}
filter(find("find-chart"), "#charts > li");
if (find("marginal")) find("marginal").addEventListener("submit", async (event) => {
  event.preventDefault();
  const query = new URLSearchParams();
  for (const id of ["first", "second"]) if (find(id).value) query.append("column", find(id).value);
  const answer = await fetch(`/api/run/${event.target.dataset.run}/marginal?${query}`);
  const found = await answer.json();
  if (found.error) { complain(found.error); return; }
  find("drawn").replaceChildren(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement);
});

// Side by side
if (find("sides")) {
  const waiting = [...document.querySelectorAll("[data-watch]")].filter((part) => !OVER.includes(part.dataset.state));
  const watch = async () => {
    for (const part of waiting) {
      const found = await look(part.dataset.watch);
      if (!found) continue;
      part.querySelector(".state").textContent = found.state === "running" ? `${found.stage}, ${Math.round(100 * found.done)} %` : found.state;
      if (OVER.includes(found.state)) { location.reload(); return; }
    }
    if (waiting.length) setTimeout(watch, 400);
  };
  if (waiting.length) watch();
}

// Masked copies
if (find("mask")) {
  const path = `/t/${encodeURIComponent(find("mask").dataset.table)}/mask`;
  const share = (x) => (100 * x).toFixed(2) + " %";
  find("mask").addEventListener("submit", async (event) => {
    event.preventDefault();
    find("measure").disabled = true;
    find("measuring").textContent = "Drawing copies at every setting …";
    const replaced = [...document.querySelectorAll(".replaced:checked")].map((box) => box.value);
    const found = await send(path + "/tune", { replaced, response: find("response").value, risk_target: find("risk-target").value });
    find("measure").disabled = false;
    find("measuring").textContent = "";
    if (!found) return;
    find("tuning").replaceChildren(new DOMParser().parseFromString(found.figure, "image/svg+xml").documentElement);
    find("choice").textContent = found.choice;
    find("write").disabled = !found.has_choice;
    find("written").textContent = "";
    const body = find("settings").tBodies[0];
    body.replaceChildren();
    for (const s of found.settings) {
      const row = body.insertRow();
      const cells = [s.name, s.overlap === null ? "" : s.overlap.toFixed(3), s.propensity.toPrecision(2), share(s.unique_rate), share(s.mean_chance)];
      cells.forEach((text, i) => { const cell = row.insertCell(); cell.textContent = text; if (i) cell.className = "n"; });
    }
    find("tuned").hidden = false;
  });
  find("write").addEventListener("click", async () => {
    const found = await send(path + "/write", {});
    if (found) { find("written").textContent = `${found.copies} copies are in ${found.folder}. Hand out the whole folder.`; find("write").disabled = true; }
  });
}
