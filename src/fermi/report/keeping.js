// What can be kept of the page: all figures as CSV, and the model card as Markdown.

// A cell that no spreadsheet takes for a formula.
function csvCell(x) {
  if (isNumber(x)) return String(x);
  const text = String(x ?? "");
  const safe = /^([=+@\t\r]|-(?![\d.]))/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const FIGURES = ["model", "rows of", "group", "rows", "figure", "label", "value", "low", "high", "note"];

function figuresOf(audit) {
  const all = [["error", "", audit.error], ["expected error", "", isNumber(audit.error_soft) ? [audit.error_soft] : null]]; // prettier-ignore
  const measures = audit.measures.map((measure) => [keyOf(measure).replaceAll("_", " "), "", measure.estimate]);
  const judged = audit.judged ? [["gap of groups with enough rows", "", audit.judged.gap], ["four-fifths ratio", audit.judged.favourable, audit.judged.ratio]] : []; // prettier-ignore
  const overall = [...all, ...judged, ...measures].map((each) => ["", audit.rows, ...each]);
  const groups = audit.groups.flatMap((group) => {
    const named = [["rate", group.rates], ["tpr", group.tpr], ["fpr", group.fpr], ["precision", group.precision], ["auc", group.auc], ["mean probability", group.soft_rates]]; // prettier-ignore
    const rates = named.flatMap(([name, pairs]) => pairs.map(([label, estimate]) => [name, label, estimate]));
    return [...rates, ["error", "", group.error]].map((each) => [group.group, group.rows, ...each]);
  });
  return [...overall, ...groups].filter((each) => each.at(-1));
}

function figuresCsv() {
  const lines = models.flatMap((model) =>
    splits.flatMap((split) =>
      figuresOf(auditOf(model, split)).map(([group, rows, name, label, [x, low, high, why]]) =>
        [strengthOf(model), split, group, rows, name, label, x, low, high, why].map(csvCell).join(","),
      ),
    ),
  );
  return [FIGURES.map(csvCell).join(","), ...lines, ""].join("\r\n");
}

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function prepareKeeping() {
  byId("save-csv").addEventListener("click", () => save("figures.csv", "text/csv", `\ufeff${figuresCsv()}`));
  byId("save-card").addEventListener("click", () => save("model-card.md", "text/markdown", record.card));
}
