// The page: controls, summary, the sections on one model, and what brings all of them up to date.

function showControls() {
  const name = strengthOf(models[state.model]);
  byId("slider").value = state.model;
  byId("slider").setAttribute("aria-valuetext", `${name}, model ${state.model + 1} of ${models.length}`);
  fill("now", name);
  for (const input of byId("pair").querySelectorAll("input")) input.checked = Number(input.value) === state.model;
  for (const input of byId("splits").querySelectorAll("input")) input.checked = input.value === state.split;
}

function figure(name, estimate, format, before) {
  const then = isNumber(value(before)) ? `with ${strengthOf(models[0])} ${format(value(before))}` : "";
  const under = [interval(estimate, format), note(estimate), then].filter(Boolean);
  return make(
    "div",
    {},
    make("dt", {}, name),
    make("dd", { class: "big" }, format(value(estimate))),
    ...under.map((line) => make("dd", { class: "under" }, line)),
  );
}

// What labels are worth beside one label for everybody.
function worth(audit, before) {
  const { use } = audit;
  if (!use) return [];
  const of = (name) => [[use[name]], before?.use && [before.use[name]]];
  const auc = isNumber(use.auc) ? [figure("AUC", of("auc")[0], number, of("auc")[1])] : [];
  return [
    figure(`Error of always ${called(use.constant)}`, [use.constant_error], percent),
    figure("Balanced accuracy", of("balanced_accuracy")[0], percent, of("balanced_accuracy")[1]),
    ...auc,
  ];
}

function showSummary() {
  const model = models[state.model];
  const reference = referenceOf(model);
  const of = (each, key) => each && measureOf(each, state.split, key);
  const ermi = of(model, "ermi soft") ? "ermi soft" : "ermi hard";
  const keys = [GAP, "parity_difference soft", ermi].filter((key) => of(model, key));
  const figures = keys.map((key) => figure(measureTitle(key), of(model, key), formatOf(key), of(reference, key)));
  if (errorOf(model)) figures.unshift(figure("Error", errorOf(model), percent, reference && errorOf(reference)));
  figures.push(...worth(auditOf(model), reference && auditOf(reference)));
  fill("figures", ...figures);
  const words = summaryWords(model, reference).filter(Boolean);
  fill("words", ...words.map((text) => make("p", {}, text)));
  byId("back").hidden = state.model === record.chosen;
}

function summaryWords(model, reference) {
  const audit = auditOf(model);
  const before = strengthOf(models[0]);
  const gap = (each, split = state.split) => each && measureOf(each, split, GAP);
  const what = GAP === TOLD ? `gap between groups with at least ${FEW} rows` : "parity difference";
  const elsewhere = splits
    .filter((split) => split !== state.split && isNumber(value(gap(model, split))))
    .map((split) => `${points(value(gap(model, split)))} on the ${split} rows`);
  return [
    opening(model, audit),
    choice(),
    [
      errorSentence(audit.error, reference && errorOf(reference), before),
      gapSentence(what, gap(model), gap(reference), before),
    ]
      .join(" ")
      .trim(),
    ratesSentence(audit, reference && auditOf(reference), before),
    elsewhere.length ? `The ${what} of the same labels is ${elsewhere.join(" and ")}.` : "",
    `What is asked for is ${audit.asks || audit.notion}. Numbers in brackets are ${confidenceOf(audit)} intervals.`,
  ];
}

function opening(model, audit) {
  const columns = audit.columns.filter(Boolean).join(" and ");
  const rows = [some(audit.rows, "row"), isTrained ? ` (${state.split})` : "", columns ? `, by ${columns}` : ""].join(
    "",
  );
  if (!isTrained) return `These are the predictions for ${rows}.`;
  if (isSingle || isPair) return `These are the figures of ${strengthOf(model)}, on ${rows}.`;
  return `This is model ${state.model + 1} of ${models.length}, with ${strengthOf(model)}, on ${rows}.`;
}

// Why the model was chosen. The sentence is the command's own, in its numbers, and the only place that needs them told.
function choice() {
  if (!record.reason) return "";
  const other = state.model === record.chosen ? "" : `When this page was made, ${strengthOf(models[record.chosen])} was chosen. `;
  const lam = isPair && record.strength === "λ" && record.reason.includes("λ") ? ` ${LAM}` : "";
  return `${other}${record.reason}${lam} Gaps are told here as parts of 1: 0.02 is 2 points.`;
}

function showMeasures() {
  fill(
    "measures-words",
    "Hard numbers are of the labels that the model gives, soft ones of labels drawn from its probabilities. " +
      "Shrinking all scores lowers the soft ones without changing one label, so they are kept apart.",
    splits.length > 1 ? " The shaded column is what the rest of the page shows." : "",
  );
  fill("measures", measuresTable(models[state.model].splits, state.split));
}

const HISTORY = [
  ["objective", "Objective", false],
  ["dual_gap", "Dual gap", true],
];

function historyPanel(panel, history, name, title, log) {
  const steps = history.get("step") ?? [];
  const all = (history.get(name) ?? []).map((y, i) => {
    return { step: steps[i], y, words: `step ${count(steps[i])}\n${title.toLowerCase()} ${digits(y)}` };
  });
  const rows = all.filter(({ y }) => isNumber(y) && (!log || y > 0));
  panel.hidden = rows.length < 2;
  if (panel.hidden) return;
  const [first, last] = [rows[0], rows.at(-1)];
  const words = `${title} against step, from ${digits(first.y)} to ${digits(last.y)} in ${count(last.step)} steps.`;
  draw(panel.querySelector(".chart"), historySpec({ log, dotted: rows.length < 40 }), rows, words);
}

function showConvergence() {
  const { history, seconds } = models[state.model];
  if (hideSection("convergence-section", !models.some((model) => model.history.has("step")))) return;
  const steps = history.get("step") ?? [];
  const name = strengthOf(models[state.model]);
  const took = isNumber(seconds) ? ` It took ${short(seconds)} seconds.` : "";
  const words =
    `Training of the model with ${name}: the objective that is minimised, and the dual gap, ` +
    "which is how far the adversary is from its best answer.";
  fill("convergence-words", steps.length ? words + took : `No history was kept for the model with ${name}.${took}`);
  HISTORY.forEach((shown, i) => historyPanel(byId("convergence").children[i], history, ...shown));
  byId("convergence-table").parentElement.hidden = !steps.length;
  fill("convergence-table", ...(steps.length ? [columnsTable("Records of training", history)] : []));
}

function showNotes() {
  const model = models[state.model];
  const told = (split, text) => (splits.length > 1 ? `${capital(split)}: ${text}` : text);
  const own = splits.flatMap((split) => (auditOf(model, split)?.notes ?? []).map((text) => told(split, text)));
  const groups = auditOf(model)
    .groups.filter((group) => group.note)
    .map((group) => `${group.group}: ${group.note}`);
  const all = [...record.notes, record.left_out, ...own, ...groups].filter(Boolean);
  hideSection("notes-section", !all.length);
  fill("notes", ...[...new Set(all)].map((text) => make("li", {}, text)));
  fill(
    "limits",
    ...limits(auditOf(model))
      .filter(Boolean)
      .map((text) => make("li", {}, text)),
  );
}

function limits(audit) {
  const tried = Math.max(models.length, new Map(record.lam_path).get("lam")?.length ?? 0);
  const apart = tested && kindOf(held) !== "test";
  const untouched = apart
    ? state.model === record.chosen
      ? ": the test rows took no part in the choice"
      : ". A model chosen by looking at test rows looks better on them, too"
    : "";
  return [
    "They describe predictions on these rows. A small number says that predictions hardly depend on the group here; " +
      "it does not say that a decision is just, nor what happens after it.",
    `An interval covers the chance of which rows were drawn, with ${confidenceOf(audit)} confidence for each number ` +
      "by itself; among many numbers some intervals miss. It does not cover wrong labels, rows that were never " +
      "collected, or a population that changes.",
    tried > 2
      ? `${tried} models were compared on held-out rows. The best of many looks better there than it is${untouched}.`
      : "",
    "Groups are those of the columns named here. Differences inside a group, and between groups that no column tells " +
      "apart, are not seen.",
    "With small groups, measures of dependence are above zero by chance alone; the bias-corrected value and the " +
      "p-value, where given, account for that.",
    audit.unknown > 0 ? `${some(audit.unknown, "row")} of unknown group: in no group’s figures.` : "",
  ];
}

function show() {
  showControls();
  showSummary();
  showTradeoff();
  showPath();
  showSearch();
  showRule();
  showGroups();
  showConfusion();
  showMeasures();
  showCalibration();
  showConvergence();
  showNotes();
  showTools();
  showPicture();
  hintAtScrolling();
}

// Measures that a chart can show as a violation: those where more is worse.
function violations() {
  const audits = models.flatMap((model) => [...model.splits.values()]);
  const keys = audits.flatMap((audit) => audit.measures.map(keyOf));
  return [...new Set([...(GAP === TOLD ? [TOLD] : []), ...keys])].filter((key) => !/^(parity_ratio|pearson_correlation) /.test(key));
}

function prepare() {
  document.title = record.title;
  fill("title", record.title);
  const trained = isSingle ? "A trained model" : "A trained model, beside the plain one";
  const several = models.length > 2 ? "Fairness and error: a trade-off" : trained;
  const source = new Map(record.facts).get("Data");
  fill("kind", [isTrained ? several : "Audit of predictions", source].filter(Boolean).join(" · "));
  showFirst();
  showMoves();
  prepareTools();
  prepareKeeping();
  byId("tradeoff-section").open = hasCurve;
  fill("facts", ...record.facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, ...factWords(name, text))]));
  fill("summary-title", isTrained && !isSingle ? "Figures of one model" : "Figures");
  hideSection("facts-section", !record.facts.length);
  byId("choose").hidden = isSingle || isPair;
  byId("model-choice").hidden = !isPair;
  const one = (index) => make("input", { type: "radio", name: "model", value: index });
  if (isPair) fill("pair", ...models.map((model, i) => make("label", {}, one(i), capital(strengthOf(model)))));
  byId("split-choice").hidden = splits.length < 2;
  byId("controls").hidden = isSingle && splits.length < 2;
  byId("save-card").hidden = !isTrained;
  byId("slider").max = models.length - 1;
  const radio = (split) => make("input", { type: "radio", name: "split", value: split });
  fill("splits", ...splits.map((split) => make("label", {}, radio(split), capital(split))));
  const keys = violations();
  if (!keys.includes(state.measure) && keys.length) state.measure = keys[0];
  fill("measure", ...keys.map((key) => make("option", { value: key }, measureTitle(key))));
  byId("measure").value = state.measure;
  fill("go-back", `Back to ${strengthOf(models[record.chosen])}`);
  fill("group-then", `with ${strengthOf(models[0])}`);
  fillFigures("group-panels", QUANTITIES.map(() => "")); // prettier-ignore
  fillFigures("convergence", HISTORY.map(([, title]) => title)); // prettier-ignore
}

// Settings break between two options, and not within one.
function factWords(name, text) {
  if (name !== "Settings") return [text];
  return text.split(/ (?=--)/).flatMap((option) => [make("code", {}, option), " "]);
}

function listen() {
  byId("slider").addEventListener("input", (event) => choose({ model: Number(event.target.value) }));
  byId("pair").addEventListener("change", (event) => choose({ model: Number(event.target.value) }));
  byId("splits").addEventListener("change", (event) => choose({ split: event.target.value }));
  byId("measure").addEventListener("change", (event) => choose({ measure: event.target.value }));
  byId("outcome").addEventListener("change", (event) => choose({ outcome: event.target.value }));
  byId("calibration-outcome").addEventListener("change", (event) => choose({ outcome: event.target.value }));
  byId("go-back").addEventListener("click", () => choose({ model: record.chosen }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("tradeoff").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose({ model: Math.min(models.length - 1, Math.max(0, state.model + step)) });
  });
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", unfolded);
  addEventListener("resize", hintAtScrolling);
  addEventListener("beforeprint", () => unfold(true));
  addEventListener("afterprint", () => unfold(false));
}

// Charts take the width that they have once they are seen.
function unfolded() {
  dispatchEvent(new Event("resize"));
}

// Whether a table goes on beyond what is seen of it.
function hintAtScrolling() {
  for (const box of document.querySelectorAll(".scroll")) {
    box.classList.toggle("more", box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 2);
  }
}

// No table but the long ones stays folded on paper; afterwards all is as it was.
function unfold(printing) {
  for (const details of document.querySelectorAll("details:not(.long)")) {
    if (printing && !details.open) details.dataset.folded = "";
    if (printing) details.open = true;
    else if ("folded" in details.dataset) details.open = false;
    if (!printing) delete details.dataset.folded;
  }
}

prepare();
listen();
show();
