// Numbers and names in words. An estimate is [value, low, high, note]; null stands for what could not be estimated.

const DASH = "–";

const MEASURES = new Map([
  ["told_gap", ["Gap of groups with enough rows", "parity difference among groups that are not too small to judge"]],
  ["parity_difference", ["Parity difference", "largest minus smallest group rate, worst class and condition"]],
  ["parity_ratio", ["Parity ratio", "smallest over largest group rate, worst class and condition; 1 means parity"]],
  ["ermi", ["ERMI", "χ²-divergence of group and prediction from independence; what training penalises"]],
  ["mutual_information", ["Mutual information", "Shannon’s, in nats"]],
  ["renyi_mutual_information", ["Rényi mutual information", "of order 2, in nats"]],
  ["renyi_correlation", ["Rényi correlation", "largest correlation of any scores of group and prediction"]],
  ["pearson_correlation", ["Pearson correlation", "of the numbers of group and class; depends on their order"]],
  ["lq_violation(q=1)", ["L1 violation", "total distance of the joint law from independence"]],
  ["lq_violation(q=2)", ["L2 violation", "Euclidean distance of the joint law from independence"]],
  ["linf_violation", ["L∞ violation", "largest distance of a group’s rate from the overall rate"]],
]);

// How often a group is given a class: where its record has that, and the beginning of a sentence on it.
const RATES = new Map([
  ["selection", ["rates", (label) => `${label} is predicted for`]],
  ["true_positive", ["tpr", (label) => `Of the rows that are truly ${label}, that class is predicted for`]],
]);

const counted = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
// Three decimals, and two digits of what is smaller.
function number(x) {
  if (!isNumber(x)) return DASH;
  if (x === 0 || Math.abs(x) >= 0.001) return x.toFixed(3);
  return Math.abs(x) >= 1e-5 ? x.toPrecision(2) : x.toExponential(1);
}
// Shares are percentages everywhere on the page, and what lies between two shares is told in points of them.
const percent = (x) => (isNumber(x) ? `${(100 * x).toFixed(1)}%` : DASH);
const points = (x) => (isNumber(x) ? `${(100 * x).toFixed(1)} points` : DASH);
const DIFFERENCES = ["parity_difference", "linf_violation", "told_gap"];
const formatOf = (key) => (DIFFERENCES.includes(key.split(" ")[0]) ? points : number);
const count = (x) => (isNumber(x) ? counted.format(x) : DASH);
const short = (x) => (isNumber(x) ? String(Number(x.toPrecision(3))) : DASH);
const digits = (x) => (isNumber(x) ? String(Number(x.toPrecision(5))) : DASH);
const pValue = (p) => (!isNumber(p) ? DASH : p < 0.001 ? "< 0.001" : p.toFixed(3));
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const some = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// "[14.8, 15.6]": the unit stands behind the value already.
function interval(estimate, format) {
  if (!estimate || !isNumber(estimate[1]) || !isNumber(estimate[2])) return "";
  return `[${[estimate[1], estimate[2]].map((x) => format(x).replace(/%| points/, "")).join(", ")}]`;
}

const value = (estimate) => (estimate ? estimate[0] : null);
const note = (estimate) => (estimate && estimate[3]) || "";
function inWords(estimate, format) {
  return [format(value(estimate)), interval(estimate, format)].filter(Boolean).join(" ");
}

function measureName(name) {
  return MEASURES.has(name) ? MEASURES.get(name)[0] : capital(name.replaceAll("_", " "));
}

// A label in quotes; one that is a bare code, such as 1, with the column that it is a value of.
const called = (label) =>
  record.target && /^(-?[\d.]+|true|false|yes|no|[yn])$/i.test(label) ? `“${record.target} = ${label}”` : `“${label}”`;

// A group by its value where all are values of one column, which stands in the heading.
function groupName(name, audit) {
  const prefix = `${audit.columns[0]}=`;
  return audit.columns.length === 1 && name.startsWith(prefix) && name !== prefix ? name.slice(prefix.length) : name;
}

const kindName = (soft) => (soft ? "soft" : "hard");

// The group rates that the notion is about, for a sentence on who gets what.
function notionRates(audit) {
  const [field, begin] = RATES.get(audit.rate);
  const label = audit.judged?.favourable ?? audit.label;
  return { of: (group) => rateOf(group, field, label, audit.classes), words: begin(called(label)) };
}

const FEW = 30; // rows, below which a rate says little: such groups are listed, and make no headline

// The groups with the highest and the lowest of these rates, and those with too few rows to be among them.
function extremes(audit) {
  const { of, words } = notionRates(audit);
  const known = audit.groups.filter((group) => isNumber(value(of(group))));
  const enough = known.filter((group) => group.rows >= FEW);
  const rated = enough.length < 2 ? known : enough;
  if (rated.length < 2) return null;
  const ranked = rated.toSorted((a, b) => value(of(b)) - value(of(a)));
  return { high: ranked[0], low: ranked.at(-1), of, words, few: known.filter((group) => !rated.includes(group)) };
}

function fewSentence(audit) {
  const few = extremes(audit)?.few ?? [];
  if (!few.length) return "";
  const named = few.slice(0, 5).map((group) => `${group.group} (${count(group.rows)})`);
  const more = few.length > 5 ? ` and ${few.length - 5} more` : "";
  return ` Left out here, with fewer than ${FEW} rows: ${named.join(", ")}${more}.`;
}

function errorSentence(error, before, beforeName) {
  if (!isNumber(value(error))) return "";
  const now = `Of these rows, ${inWords(error, percent)} are predicted wrongly`;
  if (!isNumber(value(before))) return `${now}.`;
  const change = value(error) - value(before);
  const words = Math.abs(change) < 0.0005 ? "as many" : `${points(Math.abs(change))} ${change > 0 ? "more" : "fewer"}`;
  return `${now}; with ${beforeName} it is ${inWords(before, percent)}: ${words}.`;
}

function gapSentence(what, gap, before, beforeName) {
  if (!isNumber(value(gap))) return "";
  const now = `The ${what} of the labels is ${inWords(gap, points)}`;
  if (!isNumber(value(before))) return `${now}.`;
  const change = value(gap) - value(before);
  const size = `${points(Math.abs(change))} ${change > 0 ? "larger" : "smaller"}`;
  return `${now}; with ${beforeName} it is ${inWords(before, points)}: ${Math.abs(change) < 0.0005 ? "the same" : size}.`;
}

function ratesSentence(audit, reference, beforeName) {
  const found = extremes(audit);
  if (!found) return "";
  const { high, low, of, words } = found;
  const rates = [high, low].map((group) => `${inWords(of(group), percent)} of ${group.group}`);
  const which = audit.groups.length > 2 ? ", the groups with the highest and the lowest rate" : "";
  const now = `${words} ${rates.join(" and ")}${which}`;
  const then = [high, low].map(({ group }) => reference?.groups.find((other) => other.group === group));
  const rest = fewSentence(audit);
  if (!then.every(Boolean)) return `${now}.${rest}`;
  return `${now}; with ${beforeName}, for ${then.map((group) => percent(value(of(group)))).join(" and ")}.${rest}`;
}
