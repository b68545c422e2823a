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
const state = {
  model: record.chosen,
  split: tested ?? splits.at(-1),
  measure: PARITY,
  outcome: models[record.chosen].splits.get(splits[0]).classes.at(-1),
};

const auditOf = (model, split = state.split) => model.splits.get(split);
const errorOf = (model, split = state.split) => auditOf(model, split)?.error ?? null;
const keyOf = (measure) => `${measure.name} ${kindName(measure.soft)}`;
const measureOf = (model, split = state.split, key = state.measure) =>
  auditOf(model, split)?.measures.find((measure) => keyOf(measure) === key)?.estimate ?? null;
const measureTitle = (key) => key.replace(/^(.*) (hard|soft)$/, (_, name, kind) => `${measureName(name)} (${kind})`);

const withLabels = (name, model) => (model.adjusted ? `${name}, adjusted labels` : name);
const strengthOf = (model) =>
  isNumber(model.lam) ? withLabels(`${record.strength} = ${short(model.lam)}`, model) : model.label;
const ticks = models.map((model) => (model.adjusted ? `${short(model.lam)}, labels` : short(model.lam)));
const confidenceOf = (audit) => `${short(100 * audit.confidence)}%`;

// The model that all others are compared with, where there is another.
const referenceOf = (model) => (model === models[0] ? null : models[0]);

function choose(change) {
  Object.assign(state, change);
  show();
}
