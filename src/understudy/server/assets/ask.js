"use strict";
// Names, values and messages are somebody else's text: they go in by textContent, never as markup.
// The token is kept in this variable alone: no cookie, no storage, no address holds it.
let token = "";
const find = (id) => document.getElementById(id);

function complain(message) {
  find("error").textContent = message;
  find("error").hidden = !message;
  if (message) find("error").scrollIntoView({ block: "center" });
}

async function send(method, path, body) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    // Relative, so that a proxy may serve the page below a path of its own.
    response = await fetch(`v1/${path}`, { method, headers, body: body && JSON.stringify(body), credentials: "omit" });
  } catch {
    throw new Error("The server does not answer. If the question was charged, its answer is stored: ask again.");
  }
  const found = await response.json().catch(() => ({ error: "failed" }));
  if (!response.ok) throw new Error(found.message || "The server refused it.");
  return found;
}

function element(tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function line(tag, cells, from = cells.length) {
  const row = document.createElement("tr");
  cells.forEach((cell, i) => row.append(element(tag, cell, i >= from ? "n" : "")));
  return row;
}

const spellKey = (key) => (key === null ? "(missing)" : String(key));
const significant = (number) => Number(number).toLocaleString("en", { maximumSignificantDigits: 3 });

// Two of the digits that the interval leaves open.
function spellNumber(end, halfWidth) {
  const number = Number(end);
  if (!Number.isFinite(number)) return "no end";
  const open = halfWidth > 0 && Number.isFinite(halfWidth) ? 1 - Math.floor(Math.log10(halfWidth)) : 0;
  const digits = Math.min(Math.max(open, 0), 6);
  return number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function readQuestion() {
  const amount = Number(find("amount").value.trim().replace(",", "."));
  if (!find("question").value.trim()) throw new Error("Write a question.");
  if (!(amount > 0 && Number.isFinite(amount))) throw new Error("The number must be above 0.");
  return { question: find("question").value, [find("precision").value]: amount };
}

function showPrice(price) {
  find("price-lines").replaceChildren(...price.lines.map((words) => element("li", words)));
  find("priced").hidden = false;
}

function showAnswer(answer, isMadeUp) {
  find("answer-title").textContent = isMadeUp ? "Answer about made-up rows" : "Answer";
  find("warning").hidden = !isMadeUp;
  find("account-line").textContent = answer.account_line;
  const table = find("answer");
  table.caption.textContent = answer.question;
  const keys = answer.key_titles.length;
  const head = [...answer.key_titles, ...answer.number_titles.flatMap((title) => [title, "low", "high"])];
  table.tHead.replaceChildren(line("th", head, keys));
  table.tBodies[0].replaceChildren(...answer.rows.map((row) => {
    const cells = row.keys.map(spellKey);
    for (const [value, low, high] of row.numbers) {
      const halfWidth = Math.max(high - value, value - low);
      cells.push(...[value, low, high].map((end) => spellNumber(end, halfWidth)));
    }
    return line("td", cells, keys);
  }));
  find("pictures").replaceChildren(...answer.pictures.map((figure, i) => {
    // As an image a figure can run nothing, whatever it holds.
    const image = document.createElement("img");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(figure)}`;
    image.alt = `${answer.number_titles[i]} with intervals; the table above has the numbers`;
    return image;
  }));
  find("answered").hidden = false;
  find("answered").scrollIntoView({ block: "nearest" });
}

const SYMBOLS = { gdp: "μ²", zcdp: "ρ", pure: "ε" };

async function showAccount() {
  const account = await send("GET", "account");
  const limit = account.limit_epsilon === null ? "none" : `ε = ${significant(account.limit_epsilon)}`;
  const lines = [
    element("p", `${account.analyst}: answered ε = ${significant(account.epsilon)} of ${limit}`),
    element("p", `Questions charged: ${account.questions}; stored answers given: ${account.replays}`),
  ];
  if (account.amount_left !== null) {
    lines.push(element("p", `Left of your limit: ${SYMBOLS[account.accounting]} = ${significant(account.amount_left)}`));
  }
  find("account").replaceChildren(...lines);
  const charges = await send("GET", "answers");
  find("charges").querySelector("tbody").replaceChildren(...charges.reverse().map((charge) => {
    const [part, whole] = charge.amount.split("/").map(Number);
    const cost = `${SYMBOLS[charge.accounting]} = ${significant(part / (whole || 1))}`;
    return line("td", [charge.time, cost, charge.purpose]);
  }));
}

function spellDomain(column) {
  if (column.values) return column.values.map(String).join(", ");
  if (column.min !== undefined && column.max !== undefined) return `${column.min} to ${column.max}`;
  return column.type === "boolean" ? "true, false" : "not declared: cannot be asked about";
}

function showSchema(schema) {
  const rows = schema.columns.map((column) => line("td", [column.name, column.type, spellDomain(column)]));
  find("columns").tBodies[0].replaceChildren(...rows);
  if (!find("question").value) find("question").value = "SELECT COUNT(*) AS n FROM people";
}

async function act(work) {
  const buttons = document.querySelectorAll("button");
  complain("");
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await work();
  } catch (error) {
    complain(error.message);
  }
  buttons.forEach((button) => { button.disabled = false; });
}

async function enter() {
  token = find("token").value.trim();
  // A header holds no other characters; the server would never see the request.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("This is no token.");
  showSchema(await send("GET", "schema"));
  await showAccount();
  find("token").value = "";
  find("entry").hidden = true;
  find("desk").hidden = false;
  find("question").focus();
}

async function price() {
  showPrice(await send("POST", "price", readQuestion()));
}

async function tryOut() {
  showAnswer(await send("POST", "try", { ...readQuestion(), pictures: true }), true);
}

async function ask() {
  find("answered").hidden = true;
  try {
    showAnswer(await send("POST", "ask", { ...readQuestion(), purpose: find("purpose").value, pictures: true }), false);
  } finally {
    // A failure behind the charge stays charged: the account says so.
    await showAccount();
  }
}

find("entry").addEventListener("submit", (event) => { event.preventDefault(); act(enter); });
find("asking").addEventListener("submit", (event) => { event.preventDefault(); act(ask); });
find("price").addEventListener("click", () => act(price));
find("try").addEventListener("click", () => act(tryOut));
