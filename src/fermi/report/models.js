// What the page is about: the models of the record, which of them is shown, on which rows.

const record = JSON.parse(byId("data").textContent);
const models = record.points.map((point) => ({
  ...point,
  splits: new Map(point.splits),
  history: new Map(point.history),
}));
const splits = [...models[0].splits.keys()].filter((split) => models.every((model) => model.splits.has(split)));
// With an audit per sensitive column, splits are called "test: sex" and the like.
const kindOf = (split) => split.split(":")[0];
const tested = splits.find((split) => kindOf(split) === "test");
const isSingle = models.length === 1;
const isTrained = !isSingle || splits.some((split) => kindOf(split) === "train") || models[0].history.size > 0 || record.lam_path.length > 0;

// The rows where models are compared: those kept for it, else the last.
const held = splits.find((split) => !["train", "test"].includes(kindOf(split))) ?? splits.at(-1);

const PARITY = "parity_difference hard";
const TOLD = "told_gap hard";

// How many rows each group has within each condition of the notion, and how often it is given each class there; null
// where the record does not tell.
function conditionsOf(audit) {
  const { classes, groups } = audit;
  if (!audit.within) return null;
  if (!audit.within.length) {
    const rates = (group) => classes.map((name) => value(new Map(group.rates).get(name)));
    return [groups.map((group) => ({ rows: group.rows, rates: rates(group) }))];
  }
  const lines = audit.within.map((name) => classes.indexOf(name));
  if (lines.includes(-1)) return null;
  const within = (group, i) => {
    const counts = group.confusion[i] ?? [];
    const rows = counts.reduce((sum, n) => sum + n, 0);
    return { rows, rates: counts.map((n) => n / rows) };
  };
  return lines.map((i) => groups.map((group) => within(group, i)));
}

// The gap of groups that have enough rows: one with a handful says nothing, and is easily the farthest off.
function toldGap(audit) {
  if (audit.judged) return audit.judged.gap;
  const gaps = (conditionsOf(audit) ?? []).flatMap((groups) => {
    const enough = groups.filter(({ rows }) => rows >= FEW);
    if (enough.length < 2) return [];
    return audit.classes.map((_, c) => {
      const rates = enough.map((group) => group.rates[c]);
      return Math.max(...rates) - Math.min(...rates);
    });
  });
  return gaps.length ? [Math.max(...gaps)] : null;
}

const everyAudit = models.flatMap((model) => splits.map((split) => model.splits.get(split)));
const someFew = everyAudit.some((audit) => (conditionsOf(audit) ?? []).flat().some(({ rows }) => rows < FEW));
const GAP = someFew && everyAudit.every((audit) => isNumber(value(toldGap(audit)))) ? TOLD : PARITY;
// The label that people want, where that is known, is the one whose rates are shown.
const wanted = everyAudit.map((audit) => audit.judged?.favourable).find(Boolean);
const state = {
  model: record.chosen,
  split: tested ?? splits.at(-1),
  measure: GAP,
  search: "",
  sort: "rate",
  all: false,
  outcome: wanted ?? models[record.chosen].splits.get(splits[0]).classes.at(-1),
};

const auditOf = (model, split = state.split) => model.splits.get(split);
const errorOf = (model, split = state.split) => auditOf(model, split)?.error ?? null;
const keyOf = (measure) => `${measure.name} ${kindName(measure.soft)}`;
const measureOf = (model, split = state.split, key = state.measure) => {
  const audit = auditOf(model, split);
  if (key === TOLD) return audit ? toldGap(audit) : null;
  return audit?.measures.find((measure) => keyOf(measure) === key)?.estimate ?? null;
};
const measureTitle = (key) => key.replace(/^(.*) (hard|soft)$/, (_, name, kind) => `${measureName(name)} (${kind})`);

// Two models need no number to be told apart: they are the plain one and this one.
const isPair = models.length === 2 && record.chosen === 1;
const withLabels = (name, model) => (model.adjusted ? `${name}, adjusted labels` : name);
const numbered = (model) => withLabels(`${record.strength} = ${short(model.lam)}`, model);
const strengthOf = (model) => {
  if (isPair) return model === models[0] ? "the plain model" : "this model";
  return isNumber(model.lam) ? numbered(model) : model.label;
};
const ticks = models.map((model) => (model.adjusted ? `${short(model.lam)}, labels` : short(model.lam)));
const confidenceOf = (audit) => `${short(100 * audit.confidence)}%`;

// The model that all others are compared with, where there is another.
const referenceOf = (model) => (model === models[0] ? null : models[0]);

function choose(change) {
  Object.assign(state, change);
  show();
}
