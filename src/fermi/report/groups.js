// Sections on groups: rates, confusion, calibration.

function fillOutcomes(id, wrapper, classes, chosen) {
  byId(wrapper).hidden = classes.length < 3;
  const options = () => classes.map((name) => make("option", { value: name }, name));
  if (byId(id).options.length !== classes.length) fill(id, ...options());
  byId(id).value = chosen;
}

const QUANTITIES = [
  [(name) => `Predicted ${called(name)}`, (group, name) => new Map(group.rates).get(name)],
  [() => "Error", (group) => group.error],
  [(name) => `True positive rate of ${called(name)}`, (group, name, classes) => rateOf(group, "tpr", name, classes)],
  [(name) => `False positive rate of ${called(name)}`, (group, name, classes) => rateOf(group, "fpr", name, classes)],
];

function groupPanel(panel, audit, reference, title, of) {
  panel.hidden = !audit.groups.some((group) => isNumber(value(of(group))));
  if (panel.hidden) return;
  const rows = arrangedGroups(audit).slice(0, FULL).map((group) => {
    const [x, low, high] = of(group) ?? [];
    const before = reference?.groups.find((other) => other.group === group.group);
    const words = `${group.group}\n${title} ${inWords(of(group), percent)}\n${some(group.rows, "row")}`;
    return { group: group.group, x, low, high, before: before ? value(of(before)) : null, words };
  });
  const audits = models.flatMap((model) => [...model.splits.values()]);
  const everywhere = audits.flatMap((each) => each.groups.flatMap((group) => (of(group) ?? []).slice(0, 3)));
  const labelLimit = panel.clientWidth > 420 ? 180 : 120;
  const spec = groupSpec({ groups: rows.map((row) => row.group), xDomain: domainOf(everywhere), labelLimit });
  const told = rows.map((row) => `${row.group} ${percent(row.x)}`).join(", ");
  panel.querySelector("h3").textContent = title;
  draw(panel.querySelector(".chart"), spec, rows, `${title} by group: ${told}.`);
}

function showGroups() {
  const model = models[state.model];
  const audit = auditOf(model);
  if (hideSection("groups-section", !audit.groups.length)) return;
  const reference = referenceOf(model) && auditOf(referenceOf(model));
  fillOutcomes("outcome", "outcome-choice", audit.classes, state.outcome);
  fill(
    "groups-words",
    `Dots are rates on the ${state.split} rows, lines their ${confidenceOf(audit)} intervals.`,
    isSingle ? "" : " Scales are the same for every model, so that a move is a change.",
    audit.groups.length > FULL ? ` Charts are of the first ${FULL} groups that are found; the table has all of these.` : "",
  );
  byId("group-key").hidden = !reference;
  QUANTITIES.forEach(([title, of], i) => {
    const panel = byId("group-panels").children[i];
    groupPanel(panel, audit, reference, title(state.outcome), (group) => of(group, state.outcome, audit.classes));
  });
  fill("groups-table", groupsTable(audit, state.outcome));
}

// What the rule charges, for the model whose labels it gives.
function showRule() {
  const model = models[state.model];
  if (hideSection("rule-section", !record.rule.length || !model.adjusted)) return;
  fill(
    "rule-words",
    "The label of a row is the class with the highest probability after these charges. A row is charged for how " +
      "likely it is of each group, as far as its features tell: rows with the same features get the same label. " +
      "A charge is by how many percentage points the class falls for every point by which the row is likelier of " +
      "the group and less likely of the others; below zero it rises.",
  );
  fill("rule-table", ruleTable(record.rule));
}

function showConfusion() {
  const audit = auditOf(models[state.model]);
  if (hideSection("confusion-section", !audit.groups.some((group) => group.confusion.length))) return;
  const shown = arrangedGroups(audit).slice(0, FULL);
  fill("confusion", ...shown.map((group) => confusionTable(group, audit.classes)));
}

function calibrationRows(group, bins) {
  const marks = bins.map(({ predicted, observed, rows }) => {
    const [y, low, high] = observed;
    const seen = `observed ${inWords(observed, percent)}`;
    const lines = [group.group, `predicted ${percent(predicted)}`, seen, some(rows, "row")];
    return { predicted, observed: y, low, high, words: lines.join("\n") };
  });
  return marks.filter((mark) => isNumber(mark.observed));
}

function calibrationLine(group, bin) {
  const cells = [textCell(count(bin.rows)), textCell(percent(bin.predicted)), estimateCell(bin.observed, percent)];
  return make("tr", {}, rowHead(group.group), ...cells);
}

function showCalibration() {
  const audit = auditOf(models[state.model]);
  if (hideSection("calibration-section", !audit.groups.some((group) => group.calibration.length))) return;
  const groups = arrangedGroups(audit).filter((group) => group.calibration.length).slice(0, FULL); // prettier-ignore
  const classes = [...new Set(groups.flatMap((group) => group.calibration.map((bin) => bin.outcome)))];
  const outcome = classes.includes(state.outcome) || !classes.length ? state.outcome : classes.at(-1);
  fillOutcomes("calibration-outcome", "calibration-choice", classes, outcome);
  fill(
    "calibration-words",
    `How often ${called(outcome)} occurs among rows that were given a probability for it. ` +
      "On the dashed line the two agree; above it, the class occurs more often than predicted.",
  );
  const panels = byId("calibration");
  const titles = groups.map((group) => group.group);
  const present = [...panels.querySelectorAll("h3")].map((title) => title.textContent);
  if (JSON.stringify(titles) !== JSON.stringify(present)) fillFigures("calibration", titles);
  const lines = groups.flatMap((group, i) => {
    const bins = group.calibration.filter((bin) => bin.outcome === outcome);
    const rows = calibrationRows(group, bins);
    const words = `Observed against predicted share of ${outcome} in ${group.group}, ${rows.length} ranges.`;
    draw(panels.children[i].querySelector(".chart"), calibrationSpec(), rows, words);
    return bins.map((bin) => calibrationLine(group, bin));
  });
  const heads = ["Group", "Rows", "Predicted", "Observed"];
  fill("calibration-table", table(`Calibration for ${called(outcome)}`, heads, lines));
}
