// Sections that compare the models: trade-off, along the strength, the search for it.

// Models that none beats on both error and violation, on the rows where models are compared.
function front() {
  const at = models.map((model) => [value(errorOf(model, held)), value(measureOf(model, held))]);
  const beats = ([e, v], [f, w]) => e <= f && v <= w && (e < f || v < w);
  return at.map((own) => own.every(isNumber) && !at.some((other) => other.every(isNumber) && beats(other, own)));
}

// Two models are a before and an after: the picture shows those, and a curve would have nothing between its ends.
const hasCurve = models.length > 2;
const LAM = "λ is the weight of fairness in training: at 0 there is none, and more of it makes groups more alike.";
const knob = () => (record.strength === "λ" ? ` ${LAM}` : "");

function describe(model) {
  const violation = `${measureTitle(state.measure)} ${inWords(measureOf(model), formatOf(state.measure))}`;
  return [strengthOf(model), `error ${inWords(errorOf(model), percent)}`, violation].join("\n");
}

const onAllSplits = (of) => models.flatMap((model) => splits.flatMap((split) => (of(model, split) ?? []).slice(0, 3)));
const chooseModel = (index) => choose({ model: index });

// Names at both ends of the line and at the model shown, unless they would cover each other.
function labelled(rows, { xDomain, yDomain }) {
  const apart = (a, b, [low, high]) => Math.abs(a - b) / (high - low);
  const shown = rows.find((row) => row.chosen);
  const isFar = (row) => !shown || apart(row.x, shown.x, xDomain) > 0.1 || apart(row.y, shown.y, yDomain) > 0.06;
  const isEnd = (row) => row.index === 0 || row.index === models.length - 1;
  return rows.map((row) => ({ ...row, labelled: row.chosen || (isEnd(row) && isFar(row)) }));
}

function tradeoffRows(best) {
  const rows = models.map((model, index) => {
    const [x, xlow, xhigh] = measureOf(model) ?? [];
    const [y, ylow, yhigh] = errorOf(model) ?? [];
    const words = { name: strengthOf(model), words: describe(model) };
    return { index, x, xlow, xhigh, y, ylow, yhigh, ...words, front: best[index], chosen: index === state.model };
  });
  return rows.filter((row) => isNumber(row.x) && isNumber(row.y));
}

function showTradeoff() {
  const comparable = models.some((model) => errorOf(model) && measureOf(model));
  if (hideSection("tradeoff-section", !hasCurve || !comparable)) return;
  const best = front();
  const title = measureTitle(state.measure);
  const domains = {
    xDomain: domainOf(onAllSplits(measureOf), { zero: true }),
    yDomain: domainOf(onAllSplits(errorOf)),
  };
  const inPoints = formatOf(state.measure) === points;
  const spec = tradeoffSpec({ xTitle: inPoints ? `${title}, in points` : title, inPoints, dashed: state.split !== held, ...domains });
  fill(
    "tradeoff-words",
    `Each mark is a model, on the ${state.split} rows: further left is a smaller violation, lower is fewer errors. ` +
      `${knob()} `.trimStart() +
      "The diamond is the model this page shows; choose another by click, with the slider, or with the arrow keys. " +
      `Filled marks, joined by the line, are the models that no other beats on both counts on the ${held} rows.`,
  );
  const chosen = describe(models[state.model]).replaceAll("\n", ", ");
  const words = `Error against ${title} of ${models.length} models on the ${state.split} rows. Chosen: ${chosen}.`;
  draw(byId("tradeoff"), spec, labelled(tradeoffRows(best), domains), words, chooseModel);
  fill("tradeoff-table", tradeoffTable(best, title));
}

const modelLine = (model, ...cells) =>
  make("tr", { class: model === models[state.model] ? "chosen" : null }, rowHead(strengthOf(model)), ...cells);

function tradeoffTable(best, title) {
  const lines = models.map((model, i) =>
    modelLine(
      model,
      estimateCell(errorOf(model), percent),
      estimateCell(measureOf(model), formatOf(state.measure)),
      textCell(best[i] ? "yes" : "no"),
      textCell(short(model.seconds)),
    ),
  );
  return table(`Models on the ${state.split} rows`, ["Model", "Error", title, "On the line", "Seconds"], lines);
}

function pathPanel(id, title, of, format, axis) {
  const row = (model, index, split) => {
    const [y, low, high] = of(model, split) ?? [];
    const words = `${strengthOf(model)}, ${split}\n${title} ${inWords(of(model, split), format)}`;
    return { index, split, y, low, high, words, current: split === state.split, chosen: index === state.model };
  };
  const all = models.flatMap((model, index) => splits.map((split) => row(model, index, split)));
  const rows = all.filter(({ y }) => isNumber(y));
  const yDomain = domainOf(onAllSplits(of), axis);
  const spec = pathSpec({ splits, shown: state.split, ticks, strength: record.strength, yDomain, format: axis.format });
  const words = `${title} along ${record.strength} of ${models.length} models on ${splits.join(", ")}.`;
  draw(byId(id), spec, rows, words, chooseModel);
}

function showPath() {
  if (hideSection("path-section", byId("tradeoff-section").hidden)) return;
  const title = measureTitle(state.measure);
  fill("path-title", `Along ${record.strength}`);
  fill("path-gap-title", title);
  fill(
    "path-words",
    "Error and violation from the weakest to the strongest fairness term, at equal distances. " +
      `The band is the interval on the ${state.split} rows, the dashed line the model this page shows.`,
  );
  pathPanel("path-error", "Error", errorOf, percent, { format: ".1%" });
  const format = formatOf(state.measure);
  pathPanel("path-gap", title, measureOf, format, { format: format === points ? POINTS : "", zero: true });
  const lines = models.map((model) => {
    const cells = (split) => [
      estimateCell(errorOf(model, split), percent),
      estimateCell(measureOf(model, split), formatOf(state.measure)),
    ];
    return modelLine(model, ...splits.flatMap(cells));
  });
  const heads = splits.flatMap((split) => [`Error, ${split}`, `${title}, ${split}`]);
  fill("path-table", table("Models by split", ["Model", ...heads], lines));
}

function searchRows(columns) {
  const lams = columns.get("lam");
  const rows = lams.map((lam, i) => {
    const y = columns.get("violation")?.[i];
    const spread = 1.96 * (columns.get("standard_error")?.[i] ?? 0);
    const lines = [
      `${record.strength} = ${short(lam)}`,
      `parity difference ${points(y)} ± ${points(spread)}`,
      `try ${i + 1} of ${lams.length}`,
    ];
    const final = lam === models[record.chosen].lam && !models[record.chosen].adjusted;
    return { lam, y, low: Math.max(0, y - spread), high: y + spread, words: lines.join("\n"), final };
  });
  const sorted = rows.filter((row) => isNumber(row.y)).toSorted((a, b) => a.lam - b.lam);
  return sorted.map((row, index) => ({ ...row, index }));
}

function showSearch() {
  const columns = new Map(record.lam_path);
  if (hideSection("search-section", !columns.has("lam"))) return;
  const rows = searchRows(columns);
  const kept = rows.some((row) => row.final) ? " The diamond is the one kept." : "";
  fill("search-title", isPair ? "How the weight of fairness was found" : `The search for ${record.strength}`);
  fill(
    "search-words",
    "Every value tried, in order of size: the parity difference of labels on held-out rows, " +
      `with 1.96 standard errors on either side.${kept}${hasCurve ? "" : knob()}`,
  );
  const spec = searchSpec({ ticks: rows.map((row) => short(row.lam)), strength: record.strength });
  const words = `Parity difference on held-out rows of ${rows.length} values of ${record.strength}.`;
  draw(byId("search"), spec, rows, words);
  fill("search-table", columnsTable("Values in the order tried", columns, new Set(["violation", "standard_error"])));
}
