// Tables and lists, made of text nodes only.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, content] of Object.entries(attributes)) if (content !== null) element.setAttribute(name, content);
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

const byId = (id) => document.getElementById(id);
const fill = (id, ...children) => byId(id).replaceChildren(...children);

// A figure with a heading and room for a chart, for each title.
function fillFigures(id, titles) {
  fill(id, ...titles.map((title) => make("figure", {}, make("h3", {}, title), make("div", { class: "chart" }))));
}

function hideSection(id, hidden) {
  byId(id).hidden = hidden;
  return hidden;
}

// A cell with an estimate: the value, under it the interval, under that the note.
function estimateCell(estimate, format, attributes = {}) {
  const range = interval(estimate, format);
  return make(
    "td",
    attributes,
    format(value(estimate)),
    range ? make("span", { class: "interval" }, range) : null,
    note(estimate) ? make("span", { class: "why" }, note(estimate)) : null,
  );
}

const textCell = (text) => make("td", {}, text);
const rowHead = (text, ...more) => make("th", { scope: "row" }, text, ...more);

function table(caption, heads, rows, attributes = {}) {
  const head = make("tr", {}, ...heads.map((text, i) => make("th", { scope: "col", class: i ? null : "text" }, text)));
  return make("table", attributes, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows));
}

// Columns of numbers as they are, such as a history.
function columnsTable(caption, columns, shares = new Set()) {
  const heads = [...columns.keys()].map((name) =>
    name === "lam" ? record.strength : capital(name.replaceAll("_", " ")),
  );
  const formats = [...columns.keys()].map((name) => (shares.has(name) ? points : digits));
  const values = [...columns.values()];
  const rows = values[0].map((_, i) =>
    make("tr", {}, ...values.map((column, j) => textCell(formats[j](column[i])))),
  );
  return table(caption, heads, rows);
}

function groupsTable(audit, outcome) {
  const rate = (pairs) => new Map(pairs).get(outcome);
  const shown = [
    [`Predicted ${called(outcome)}`, (group) => rate(group.rates)],
    [`Mean probability of ${called(outcome)}`, (group) => rate(group.soft_rates)],
    ["Error", (group) => group.error],
    [`TPR of ${called(outcome)}`, (group) => rateOf(group, "tpr", outcome, audit.classes)],
    [`FPR of ${called(outcome)}`, (group) => rateOf(group, "fpr", outcome, audit.classes)],
    [`Precision of ${called(outcome)}`, (group) => rate(group.precision)],
    ["AUC", (group) => rate(group.auc) ?? new Map(group.auc).values().next().value, number],
  ].filter(([, of]) => audit.groups.some((group) => of(group)));
  const rows = arrangedGroups(audit).map((group) =>
    make(
      "tr",
      {},
      rowHead(group.group, group.note ? make("span", { class: "what" }, group.note) : null),
      textCell(count(group.rows)),
      ...shown.map(([, of, format = percent]) => estimateCell(of(group), format)),
    ),
  );
  return table(
    `Rates by group, with ${percent(audit.confidence).replace(".0", "")} intervals`,
    ["Group", "Rows", ...shown.map(([name]) => name)],
    rows,
  );
}

function signed(x) {
  const rounded = Number(x.toFixed(2));
  return `${rounded > 0 ? "+" : rounded < 0 ? "−" : ""}${Math.abs(rounded).toFixed(2)}`;
}

function chargeRow({ group, condition, charges, likely, spread, features }, classes, conditional) {
  const of = new Map(charges);
  const average = !isNumber(likely);
  const told = features.map(([name, odds]) => `${name} (${signed(odds)})`).join(", ");
  const worded = (x) => (average ? `${signed(100 * x)}\u00a0points` : signed(x));
  return make(
    "tr",
    {},
    rowHead(group),
    ...(conditional ? [make("td", { class: "text" }, condition)] : []),
    average ? textCell("") : estimateCell([likely], percent),
    textCell(average ? "" : `±${percent(spread)}`),
    ...classes.map((label) => textCell(worded(of.get(label) ?? 0))),
    make("td", { class: "text told" }, told),
  );
}

// What each class is charged for a group, and the features that tell the group from the others.
function ruleTable(rule) {
  const classes = [...new Set(rule.flatMap(({ charges }) => charges.map(([label]) => label)))];
  const conditional = rule.some(({ condition }) => condition);
  const charged = classes.map((label) => `Charge for ${called(label)}`);
  const heads = ["Group", ...(conditional ? ["Among"] : []), "Likely, in the mean", "Spread", ...charged, "Told by"];
  const made = table(
    "In brackets: by how much a standard deviation of the feature moves the log odds of the group against the others",
    heads,
    rule.map((charge) => chargeRow(charge, classes, conditional)),
  );
  made.querySelectorAll("thead th").forEach((head, i) => {
    if (["Among", "Told by"].includes(heads[i])) head.classList.add("text");
  });
  return made;
}

function confusionTable(group, classes) {
  if (!group.confusion.length) {
    return make(
      "figure",
      { class: "confusion" },
      make("h3", {}, group.group),
      make("p", {}, `${DASH} ${group.note || "not given"}`),
    );
  }
  const rows = group.confusion.map((line, i) => {
    const total = line.reduce((sum, cell) => sum + cell, 0);
    const cells = line.map((cell) => {
      const share = total > 0 ? cell / total : null;
      const made = make("td", {}, percent(share), make("span", { class: "interval" }, count(cell)));
      made.style.setProperty("--share", share ?? 0);
      return made;
    });
    return make("tr", {}, rowHead(classes[i]), ...cells);
  });
  const made = table(`${count(group.rows)} rows; true class by line`, ["True \\ predicted", ...classes], rows);
  return make(
    "figure",
    { class: "confusion" },
    make("h3", {}, group.group),
    make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Confusion of ${group.group}` }, made),
  );
}

const sameMeasure = (measure) => (other) => other.name === measure.name && other.soft === measure.soft;

// All that was measured, one column per split: errors, then measures of labels, then of probabilities.
function measuresTable(audits, shown) {
  const splits = [...audits.keys()];
  const all = [...audits.values()];
  const line = (name, what, of, format) =>
    make(
      "tr",
      {},
      rowHead(name, what ? make("span", { class: "what" }, what) : null),
      ...splits.map((split, i) =>
        estimateCell(of(all[i]), format, { class: split === shown && splits.length > 1 ? "chosen" : null }),
      ),
      make("td", { class: "text" }),
    );
  const single = (x) => (isNumber(x) ? [x, null, null] : null);
  const part = (title, rows) =>
    make(
      "tbody",
      { class: "part" },
      make("tr", {}, make("th", { scope: "rowgroup", class: "part", colspan: splits.length + 2 }, title)),
      ...rows,
    );
  const judged = all.map((a) => a.judged).find(Boolean);
  const least = `groups of at least ${judged?.least} rows`;
  const overall = [
    line("Gap of what can be told", `parity difference of labels, ${least}`, (a) => a.judged?.gap, points),
    line(
      `Four-fifths ratio of ${called(judged?.favourable ?? "")}`,
      `lowest over highest rate of that label, ${least}`,
      (a) => a.judged?.ratio,
      number,
    ),
    line("Rows", "", (a) => single(a.rows), count),
    line("Rows of unknown group", "in no group’s figures", (a) => single(a.unknown), count),
    line("Error", "of labels (hard)", (a) => a.error, percent),
    line("Expected error", "of labels drawn from the probabilities (soft)", (a) => single(a.error_soft), percent),
    line("ERMI, bias-corrected", "of labels: less what chance alone gives", (a) => a.corrected_ermi, number),
    line("ERMI, bias-corrected", "of probabilities (soft)", (a) => a.corrected_ermi_soft, number),
    line("P-value of independence", "how often chance alone gives labels this ERMI", (a) => single(a.p_value), pValue),
    line("P-value of independence", "of probabilities (soft), by simulation", (a) => single(a.p_value_soft), pValue),
  ].filter((row) => [...row.querySelectorAll("td")].some((cell) => cell.textContent && cell.textContent !== DASH));
  const ofKind = (soft) =>
    all[0].measures
      .filter((measure) => measure.soft === soft)
      .map((measure) => {
        const row = line(
          measureName(measure.name),
          (MEASURES.get(measure.name) ?? [])[1],
          (a) => a.measures.find(sameMeasure(measure))?.estimate,
          formatOf(measure.name),
        );
        row.lastChild.append(audits.get(shown).measures.find(sameMeasure(measure))?.bound ?? "");
        return row;
      });
  const [hard, soft] = [ofKind(false), ofKind(true)];
  const made = table("Measures by split, with intervals", ["", ...splits.map(capital), "Bound"], []);
  made.querySelectorAll("thead th").forEach((head, i) => {
    if (splits[i - 1] === shown && splits.length > 1) head.classList.add("chosen");
    if (i === splits.length + 1) head.classList.add("text");
  });
  made
    .querySelector("tbody")
    .replaceWith(
      part("All rows", overall),
      hard.length ? part("Hard: of the predicted labels", hard) : "",
      soft.length ? part("Soft: of labels drawn from the predicted probabilities", soft) : "",
    );
  return made;
}
