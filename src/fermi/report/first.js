// What stands first, for whoever has a minute: verdict, gain, price. All of it is about the model that was chosen when
// the page was made, on rows that had no part in the choice, whatever the sections below show.

const OUTCOMES = new Map([
  ["met", "✓ Met."],
  ["missed", "✗ Missed."],
  ["undecided", "? Cannot be told with these rows."],
]);
const BOUNDS = new Map([
  ["max_violation", [points, () => "a gap between groups of at most"]],
  ["min_ratio", [number, (label) => `a lowest rate of ${label}, divided by the highest, of at least`]],
  ["min_rate", [percent, (label) => `a rate of ${label} in every group of at least`]],
  ["max_rate", [percent, (label) => `a rate of ${label} over all rows of at most`]],
]);
const MANY_TIMES = 100; // as many rows: nobody has those

const gapOf = (audit) => audit.judged?.gap ?? audit.measures.find((measure) => keyOf(measure) === PARITY)?.estimate;

// The model, what it is compared with, and the rows: of several columns the one with the largest gap.
const head = (() => {
  const model = models[record.chosen];
  const candidates = splits.filter((split) => kindOf(split) === "test");
  const gap = (split) => value(gapOf(auditOf(model, split))) ?? -1;
  const split = candidates.toSorted((a, b) => gap(b) - gap(a))[0] ?? state.split;
  const plain = referenceOf(model);
  return { split, audit: auditOf(model, split), plain: plain && auditOf(plain, split) };
})();

// How many such rows would put the whole interval on one side, if the number stayed.
function moreRows({ reached: [found, low, high], limit }) {
  const away = Math.abs(limit - found);
  if (!isNumber(found) || !isNumber(low) || !away) return "";
  const times = ((limit > found ? high - found : found - low) / away) ** 2;
  if (times <= 1 || times > MANY_TIMES) return "";
  return ` About ${count(Number((times * head.audit.rows).toPrecision(2)))} such rows would tell, if the number stayed as it is.`;
}

function boundWords(bound) {
  const [format, words] = BOUNDS.get(bound.option);
  const label = called(head.audit.judged?.favourable ?? "");
  const slack = bound.limit === bound.asked ? "" : ` (${format(bound.limit)} with its slack)`;
  const asked = `Asked for: ${words(label)} ${format(bound.asked)}${slack}.`;
  if (!isNumber(value(bound.reached))) return `${asked} There is no figure: ${note(bound.reached) || "nothing to compare"}.`;
  const where = bound.rows.includes(": ") ? ` by ${bound.rows.split(": ")[1]}` : "";
  return `${asked} Found${where}: ${inWords(bound.reached, format)}.`;
}

function verdictWords(verdict) {
  const named = verdict.bounds.filter((bound) => bound.outcome === verdict.outcome);
  const unseen = isTrained ? " that had no part in the choice" : "";
  return [
    ...named.map(boundWords),
    ` Judged on ${some(head.audit.rows, "row")}${unseen}.`,
    verdict.outcome === "undecided" ? moreRows(named[0]) : "",
    verdict.needless ? ` The plain model ${verdict.outcome === "met" ? "is within it already: nothing had to be done" : "kept it on the rows of the choice, and so it was left as it is"}.` : "",
  ].join(" ").replace(/ +/g, " ").trim(); // prettier-ignore
}

// The rates behind a gap: who is highest and who lowest, in what, among whom.
function behind(audit) {
  if (audit.judged) return audit.judged.behind;
  const found = extremes(audit);
  if (!audit.label || !found) return null;
  const [high, low] = [found.high, found.low];
  const truly = audit.rate === "true_positive";
  return {
    called: truly ? "true positive rate" : "rate",
    condition: truly ? audit.label : "",
    label: audit.label,
    highest: high.group,
    high: found.of(high),
    high_rows: high.rows,
    lowest: low.group,
    low: found.of(low),
    low_rows: low.rows,
  };
}

const among = ({ called: kind, condition }) =>
  kind !== "rate" ? `of people who are truly ${called(condition)}, ` : condition ? `within “${condition}”, ` : "";
const kindOfRate = ({ called: kind }) => (kind === "rate" ? "" : ` (the ${kind})`);

function pair(found, audit, rows) {
  const one = (group, rate, n) =>
    `${percent(value(rate))} of ${groupName(group, audit)}${rows ? ` (${some(n, "row")})` : ""}`;
  return `${one(found.highest, found.high, found.high_rows)} and ${one(found.lowest, found.low, found.low_rows)}`;
}

function gainWords() {
  const { audit, plain } = head;
  const [found, then] = [behind(audit), plain && behind(plain)];
  const gap = gapOf(audit);
  if (!isNumber(value(gap))) return `Groups cannot be compared: ${note(gap) || "nothing to compare"}.`;
  const given = (it) => `${among(it)}${called(it.label)}`;
  const now = found ? `${given(found)} is given to ${pair(found, audit, true)}${kindOfRate(found)}` : "no two groups differ";
  const before = plain && gapOf(plain);
  if (!plain || !then || !isNumber(value(before))) return `The gap between groups is ${inWords(gap, points)}: ${now}.`;
  const change = value(gap) - value(before);
  const verb = Math.abs(change) < 0.0005 ? "stays" : change < 0 ? "falls" : "grows";
  const same = found && found.label === then.label && found.condition === then.condition && found.called === then.called;
  const first = `${given(then)} went to ${pair(then, plain)}${same ? "" : kindOfRate(then)}`;
  const next = same ? `it goes to ${pair(found, audit)}${kindOfRate(found)}` : now;
  return `The gap between groups ${verb} from ${points(value(before))} to ${inWords(gap, points)}: ${first}; now ${next}.`;
}

function priceWords() {
  const { audit, plain } = head;
  if (!audit.error) return "There are no true labels in these rows, so that nothing can be said of errors.";
  const constant = audit.use ? ` Always answering ${called(audit.use.constant)} would be wrong for ${percent(audit.use.constant_error)}.` : ""; // prettier-ignore
  const now = percent(value(audit.error));
  const change = record.price?.error ?? null;
  if (!plain?.error || !change) return `Wrong for ${now} of the rows.${constant}`;
  const size = value(change);
  const words = Math.abs(size) < 0.0005 ? "No more errors" : `${points(Math.abs(size))} ${size > 0 ? "more" : "fewer"} errors`;
  const ends = (size < 0 ? [-change[2], -change[1]] : change.slice(1, 3)).map((x) => (100 * x).toFixed(1));
  return `${words} [${ends.join(", ")}]: wrong for ${now} of the rows, where the plain model is for ${percent(value(plain.error))}.${peopleWords()}${constant}`;
}

function peopleWords() {
  const { moves, label, changed } = record.price;
  if (!moves.length || !changed) return "";
  const [{ gain, lose }] = moves;
  return ` Of 1,000 people ${Math.round(gain)} gain ${called(label)} and ${Math.round(lose)} lose it.`;
}

function showFirst() {
  const { verdict, warnings } = record;
  byId("verdict").className = verdict ? verdict.outcome : "none";
  fill("verdict-word", verdict ? OUTCOMES.get(verdict.outcome) : "No verdict.");
  fill("verdict-words", verdict ? verdictWords(verdict) : "No bound was asked for.");
  fill("warnings", ...warnings.map((text) => make("p", { class: "warning" }, `⚠ ${text}`)));
  fill("gain-name", head.plain ? "Gain" : "Groups");
  fill("cost-name", record.price ? "Price" : "Errors");
  fill("gain", gainWords());
  fill("cost", priceWords());
}

// Who gains and who loses, by group.
function showMoves() {
  const moves = record.price?.moves ?? [];
  if (hideSection("moves-section", !moves.length || !record.price.changed)) return;
  const label = called(record.price.label);
  fill("moves-words", `Of 1,000 people on the ${record.price.rows} rows, beside the plain model.`);
  const [everybody, ...groups] = moves;
  const few = ({ rows }) => rows < (head.audit.judged?.least ?? FEW);
  const ranked = groups.toSorted((a, b) => few(a) - few(b) || b.gain + b.lose - a.gain - a.lose);
  const lines = [everybody, ...ranked].map(({ group, rows, gain, lose }) =>
    make("tr", {}, rowHead(group), ...[rows, Math.round(gain), Math.round(lose)].map((n) => textCell(count(n)))),
  );
  fill("moves-table", table("Decisions that change", ["Group", "Rows", `Gain ${label}`, `Lose ${label}`], lines));
}
