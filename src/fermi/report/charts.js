// Charts: Vega-Lite specs, without their rows.
// Colours are the style sheet's variables, so that a change of scheme, or paper, needs no new drawing.

const FONT = getComputedStyle(document.documentElement).getPropertyValue("--sans");
const CONFIG = {
  background: null,
  font: FONT,
  view: { stroke: null },
  axis: {
    labelColor: "var(--soft)",
    titleColor: "var(--soft)",
    gridColor: "var(--line)",
    domainColor: "var(--strong)",
    tickColor: "var(--strong)",
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 500,
    titlePadding: 10,
    tickCount: 5,
  },
  legend: {
    labelColor: "var(--ink)",
    labelFontSize: 12,
    orient: "top",
    title: null,
    symbolStrokeWidth: 2,
    columnPadding: 24,
    offset: 4,
  },
  text: { fill: "var(--ink)", fontSize: 12 },
};
const SPLIT_COLOURS = ["var(--third)", "var(--fourth)", "var(--accent)", "var(--soft)"];
const SPLIT_SHAPES = ["triangle-up", "square", "circle", "cross"];

const quantitative = (field, title, options = {}) => ({ field, type: "quantitative", title, ...options });
const percentAxis = { format: ".3~%" };
const POINTS = "points"; // the axis of a difference between two shares
const axisOf = (format) =>
  format === POINTS ? { labelExpr: "format(100 * datum.value, '.3~f')" } : { format }; // prettier-ignore

// From the least to the most of all numbers, with some air.
function domainOf(numbers, { zero = false } = {}) {
  const found = numbers.filter(isNumber);
  if (!found.length) return [0, 1];
  const low = zero ? Math.min(0, ...found) : Math.min(...found);
  const high = Math.max(...found);
  const air = 0.06 * (high - low) || 0.01;
  return [zero && low >= 0 ? 0 : low - air, high + air];
}

// Rows: index, name, x, y with their intervals, front (nothing better on validation), chosen, labelled.
function tradeoffSpec({ xTitle, inPoints, xDomain, yDomain, dashed }) {
  const x = quantitative("x", xTitle, { scale: { domain: xDomain, nice: false }, axis: { grid: true, ...(inPoints ? axisOf(POINTS) : {}) } });
  const y = quantitative("y", "Error", { scale: { domain: yDomain, nice: false }, axis: { format: ".1%" } });
  const focus = [{ filter: { or: ["datum.chosen", { param: "hover", empty: false }] } }];
  const hover = { name: "hover", select: { type: "point", fields: ["index"], on: "pointerover", clear: "pointerout" } };
  const rule = { type: "rule", strokeWidth: 2, stroke: "var(--other)", opacity: 0.75, aria: false };
  return {
    width: "container",
    height: 380,
    data: { name: "rows" },
    config: CONFIG,
    encoding: { x, y },
    layer: [
      {
        transform: [{ filter: "datum.front" }],
        mark: {
          type: "line",
          stroke: "var(--accent)",
          strokeWidth: 1.5,
          strokeDash: dashed ? [5, 4] : [1, 0],
          opacity: 0.6,
          aria: false,
        },
        encoding: { order: { field: "index" } },
      },
      {
        transform: [...focus, { filter: "isNumber(datum.xlow)" }],
        mark: rule,
        encoding: { x: { ...x, field: "xlow" }, x2: { field: "xhigh" } },
      },
      {
        transform: [...focus, { filter: "isNumber(datum.ylow)" }],
        mark: rule,
        encoding: { y: { ...y, field: "ylow" }, y2: { field: "yhigh" } },
      },
      {
        mark: { type: "point", filled: true, opacity: 1, strokeWidth: 2 },
        encoding: {
          shape: { condition: { test: "datum.chosen", value: "diamond" }, value: "circle" },
          size: { condition: { test: "datum.chosen", value: 300 }, value: 90 },
          fill: {
            condition: [
              { test: "datum.chosen", value: "var(--other)" },
              { test: "datum.front", value: "var(--accent)" },
            ],
            value: "var(--paper)",
          },
          stroke: { condition: { test: "datum.chosen", value: "var(--other)" }, value: "var(--accent)" },
          order: { field: "chosen" },
          description: { field: "words" },
        },
      },
      {
        transform: [{ filter: "datum.labelled" }],
        mark: { type: "text", align: "left", dx: 10, dy: -12, aria: false, fontWeight: 600 },
        encoding: { text: { field: "name" } },
      },
      {
        params: [hover],
        mark: { type: "point", filled: true, opacity: 0, size: 550, cursor: "pointer", aria: false },
        encoding: { tooltip: { field: "words" } },
      },
    ],
  };
}

// Strengths at equal distances, so that 0 has its place; `ticks` are their names.
function alongStrength(ticks, strength) {
  const axis = {
    labelExpr: `${JSON.stringify(ticks)}[datum.value]`,
    labelAngle: 0,
    labelOverlap: "greedy",
    labelSeparation: 10,
    grid: false,
  };
  return { field: "index", type: "ordinal", title: strength, scale: { type: "point", padding: 0.6 }, axis };
}

// Rows: index, split, y with its interval, current (the split shown), chosen.
function pathSpec({ splits, shown, ticks, strength, yDomain, format }) {
  const x = alongStrength(ticks, strength);
  const y = quantitative("y", null, { scale: { domain: yDomain, nice: false }, axis: axisOf(format) });
  const range = (all) => splits.map((_, i) => all[(i + Math.max(0, 3 - splits.length)) % all.length]);
  const split = { field: "split", type: "nominal", scale: { domain: splits } };
  const color = { ...split, scale: { domain: splits, range: range(SPLIT_COLOURS) } };
  const shape = { ...split, scale: { domain: splits, range: range(SPLIT_SHAPES) } };
  return {
    width: "container",
    height: 260,
    data: { name: "rows" },
    config: CONFIG,
    encoding: { x },
    layer: [
      {
        transform: [{ filter: "datum.current && isNumber(datum.low)" }],
        mark: { type: "area", fill: color.scale.range[splits.indexOf(shown)], opacity: 0.13, aria: false },
        encoding: { y: { ...y, field: "low" }, y2: { field: "high" } },
      },
      {
        transform: [{ filter: "datum.chosen && datum.current" }],
        mark: { type: "rule", stroke: "var(--other)", strokeDash: [4, 3], aria: false },
      },
      { mark: { type: "line", strokeWidth: 1.5, aria: false }, encoding: { y, color } },
      {
        mark: { type: "point", filled: true, size: 55, opacity: 1 },
        encoding: { y, color, shape, description: { field: "words" } },
      },
      {
        mark: { type: "point", filled: true, opacity: 0, size: 400, cursor: "pointer", aria: false },
        encoding: { y, tooltip: { field: "words" } },
      },
    ],
  };
}

// Rows: index (in the order of strength), y, low, high, final.
function searchSpec({ ticks, strength }) {
  const y = quantitative("y", "Parity difference (hard), in points", { scale: { zero: true }, axis: axisOf(POINTS) });
  return {
    width: "container",
    height: 260,
    data: { name: "rows" },
    config: CONFIG,
    encoding: { x: alongStrength(ticks, strength) },
    layer: [
      {
        mark: { type: "rule", stroke: "var(--accent)", strokeWidth: 2, opacity: 0.6, aria: false },
        encoding: { y: { ...y, field: "low" }, y2: { field: "high" } },
      },
      {
        mark: { type: "point", filled: true, opacity: 1, size: 80 },
        encoding: {
          y,
          tooltip: { field: "words" },
          description: { field: "words" },
          shape: { condition: { test: "datum.final", value: "diamond" }, value: "circle" },
          size: { condition: { test: "datum.final", value: 220 }, value: 70 },
          color: { condition: { test: "datum.final", value: "var(--other)" }, value: "var(--accent)" },
        },
      },
    ],
  };
}

// Rows: group, x, low, high, before (the same rate of the least constrained model).
function groupSpec({ groups, xDomain, labelLimit }) {
  const x = quantitative("x", null, { scale: { domain: xDomain, nice: false }, axis: percentAxis });
  return {
    width: "container",
    height: 34 * groups.length,
    data: { name: "rows" },
    config: CONFIG,
    encoding: {
      y: {
        field: "group",
        type: "nominal",
        scale: { domain: groups },
        title: null,
        axis: { labelColor: "var(--ink)", labelLimit, grid: true, domain: false, ticks: false, labelPadding: 8 },
      },
    },
    layer: [
      {
        transform: [{ filter: "isNumber(datum.low)" }],
        mark: { type: "rule", strokeWidth: 2.5, stroke: "var(--accent)", opacity: 0.6, aria: false },
        encoding: { x: { ...x, field: "low" }, x2: { field: "high" } },
      },
      {
        transform: [{ filter: "isNumber(datum.before)" }],
        mark: {
          type: "point",
          shape: "square",
          size: 100,
          strokeWidth: 2,
          filled: false,
          stroke: "var(--soft)",
          opacity: 1,
          aria: false,
        },
        encoding: { x: { ...x, field: "before" } },
      },
      {
        transform: [{ filter: "isNumber(datum.x)" }],
        mark: { type: "point", filled: true, size: 95, opacity: 1, color: "var(--accent)" },
        encoding: { x, tooltip: { field: "words" }, description: { field: "words" } },
      },
    ],
  };
}

// Rows: predicted, observed, low, high, rows.
function calibrationSpec() {
  const scale = { domain: [0, 1] };
  const x = quantitative("predicted", "Predicted probability", { scale, axis: percentAxis });
  const y = quantitative("observed", "Observed share", { scale, axis: percentAxis });
  const diagonal = { values: [{ a: 0 }, { a: 1 }] };
  return {
    width: "container",
    height: 220,
    data: { name: "rows" },
    config: CONFIG,
    layer: [
      {
        data: diagonal,
        mark: { type: "line", stroke: "var(--strong)", strokeDash: [4, 4], strokeWidth: 1, aria: false },
        encoding: { x: { ...x, field: "a" }, y: { ...y, field: "a" } },
      },
      {
        transform: [{ filter: "isNumber(datum.low)" }],
        mark: { type: "rule", stroke: "var(--accent)", strokeWidth: 2, opacity: 0.6, aria: false },
        encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" } },
      },
      {
        mark: { type: "point", filled: true, color: "var(--accent)", size: 60, opacity: 1 },
        encoding: { x, y, tooltip: { field: "words" }, description: { field: "words" } },
      },
    ],
  };
}

// Rows: step, y.
function historySpec({ log, dotted }) {
  const format = log ? { format: ".0e" } : {};
  const scale = log ? { type: "log" } : { zero: false };
  return {
    width: "container",
    height: 220,
    data: { name: "rows" },
    config: CONFIG,
    mark: {
      type: "line",
      stroke: "var(--accent)",
      strokeWidth: 2,
      point: dotted ? { filled: true, fill: "var(--accent)", size: 40 } : { filled: true, opacity: 0, size: 60 },
      aria: false,
    },
    encoding: {
      x: quantitative("step", "Step"),
      y: quantitative("y", null, { scale, axis: format }),
      tooltip: { field: "words" },
    },
  };
}
