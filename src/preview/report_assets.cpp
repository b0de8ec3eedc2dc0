// Style sheet and script of the report page.
#include "preview/report_page.h"

namespace aegir {

std::string_view report_style() {
  return R"css(
:root { --page:#f6f7f8; --card:#fff; --ink:#1b2126; --soft:#5c6870; --faint:#8c979e; --line:#e2e6e9; --grid:#eceff1;
  --good:#1a7f4b; --bad:#c2362b; --warn:#9a6700; --code:#f3f5f6; --key:#0b62a8;
  --c0:#1f77c9; --c1:#e07b1a; --c2:#2a9d6f; --c3:#c2487f; --c4:#7a5cc7; --c5:#3fb6c6; --c6:#b59a17; --c7:#d5543e;
  --c8:#7d8b94; --c9:#5b7f3a; }
@media (prefers-color-scheme: dark) {
  :root { --page:#12161a; --card:#1a2025; --ink:#e6ebee; --soft:#a2afb7; --faint:#77848c; --line:#2c343a; --grid:#262e34;
    --good:#56c98c; --bad:#ff8477; --warn:#e2b04a; --code:#151a1e; --key:#7fbcf5;
    --c0:#5aa9f2; --c1:#f5a151; --c2:#52c594; --c3:#ec7fae; --c4:#a98ff0; --c5:#63d3e1; --c6:#d9c04a; --c7:#f58170;
    --c8:#93a2ab; --c9:#93bd6a; } }
* { box-sizing:border-box; }
body { margin:0; background:var(--page); color:var(--ink); font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif; }
main { max-width:1400px; margin:0 auto; padding:28px 28px 40px; }
header { margin-bottom:20px; }
.name { display:flex; align-items:center; gap:14px; flex-wrap:wrap; }
.sign { width:34px; height:34px; fill:none; stroke:var(--c0); stroke-width:2.4; stroke-linejoin:round; stroke-linecap:round; }
h1 { font-size:28px; line-height:1.2; margin:0; font-weight:650; letter-spacing:-.01em; overflow-wrap:anywhere; }
h2 { font-size:18px; font-weight:620; margin:36px 0 12px; }
h3 { font-size:14px; font-weight:620; margin:0; }
.sub { color:var(--soft); margin:8px 0 0; }
.state { font-size:13px; font-weight:600; padding:3px 11px; border-radius:99px; border:1px solid currentColor; color:var(--soft); }
.state.good { color:var(--good); } .state.bad { color:var(--bad); } .state.neutral { color:var(--warn); }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(150px,1fr)); gap:12px; }
.tiles div, .chart, .pictures figure, .notices li { background:var(--card); border:1px solid var(--line); border-radius:10px; }
.tiles div { padding:12px 16px; }
.tiles dt { color:var(--soft); font-size:13px; }
.tiles dd { margin:0; font-size:23px; font-weight:620; font-variant-numeric:tabular-nums; letter-spacing:-.01em; line-height:1.35; }
.tiles small, .note, .chart p, figcaption { color:var(--soft); font-size:13px; }
.note { margin:0 0 10px; max-width:100ch; }
.notices { list-style:none; margin:16px 0 0; padding:0; display:grid; gap:8px; }
.notices li { padding:9px 14px; border-left:4px solid var(--faint); display:flex; gap:12px; align-items:baseline; }
.notices li b { font-size:13px; font-weight:620; } .notices li i { font-style:normal; color:var(--soft); white-space:nowrap; }
.notices li span { overflow-wrap:anywhere; white-space:pre-wrap; min-width:0; }
.notices .error { border-left-color:var(--bad); } .notices .error b { color:var(--bad); }
.notices .warning { border-left-color:var(--warn); } .notices .warning b { color:var(--warn); }
details summary { cursor:pointer; color:var(--soft); margin-top:10px; }
.pictures { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr)); gap:14px; align-items:start; }
.pictures figure { margin:0; overflow:hidden; }
.pictures img { display:block; width:100%; height:auto; cursor:zoom-in; } .pictures img[hidden] { display:none; }
.pictures .large { grid-column:1/-1; } .pictures .large img { cursor:zoom-out; }
.pictures figcaption { display:flex; gap:14px; align-items:center; padding:8px 14px; }
.pictures output { min-width:82px; font-variant-numeric:tabular-nums; color:var(--ink); }
.pictures input { flex:1; min-width:80px; accent-color:var(--c0); }
.charts { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr)); gap:14px; }
.chart { margin:0; padding:12px 14px 6px; min-width:0; position:relative; }
.chart.wide { grid-column:1/-1; }
.chart figcaption { display:flex; flex-wrap:wrap; gap:2px 16px; align-items:baseline; min-height:24px; }
.chart h3 { color:var(--ink); } .chart p { margin:0; flex-basis:100%; }
.legend { display:flex; flex-wrap:wrap; gap:0 14px; }
.legend i, .tip i { display:inline-block; width:10px; height:10px; border-radius:3px; background:var(--s); margin-right:6px; }
.plot { overflow-x:auto; }
.plot svg { display:block; width:100%; min-width:430px; height:auto; margin-top:4px; touch-action:pan-y; }
.wide .plot svg { min-width:760px; }
svg text { font-size:12px; fill:var(--soft); font-variant-numeric:tabular-nums; }
.tick.y, .unit, .tick.axis { text-anchor:end; } .tick.x { text-anchor:middle; }
.grid { stroke:var(--grid); } .zero, .mark { stroke:var(--faint); }
.line { fill:none; stroke:var(--s); stroke-width:1.8; stroke-linejoin:round; stroke-linecap:round; }
.bar { fill:var(--s); }
.s0 { --s:var(--c0); } .s1 { --s:var(--c1); } .s2 { --s:var(--c2); } .s3 { --s:var(--c3); } .s4 { --s:var(--c4); }
.s5 { --s:var(--c5); } .s6 { --s:var(--c6); } .s7 { --s:var(--c7); } .s8 { --s:var(--c9); } .s9 { --s:var(--c8); }
.cross { stroke:var(--faint); stroke-dasharray:3 3; } .band { fill:var(--ink); opacity:.1; } .dot { fill:var(--card); stroke:var(--s); stroke-width:2; }
.tip { position:absolute; z-index:2; pointer-events:none; background:var(--card); border:1px solid var(--line); border-radius:8px;
  box-shadow:0 6px 22px rgba(0,0,0,.18); padding:7px 11px; font-size:13px; white-space:nowrap; }
.tip table { width:auto; } .tip td { padding:0 0 0 14px; border:0; text-align:right; } .tip td:first-child { padding:0; text-align:left; }
.scroll { overflow-x:auto; background:var(--card); border:1px solid var(--line); border-radius:10px; }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums; }
th { text-align:left; font-size:13px; font-weight:500; color:var(--soft); white-space:nowrap; }
th, td { padding:7px 14px; border-bottom:1px solid var(--grid); vertical-align:top; } tbody tr:last-child td { border-bottom:0; }
.r { text-align:right; } .r, .n { white-space:nowrap; }
.share { min-width:210px; white-space:nowrap; } .share b { font-weight:400; display:inline-block; width:60px; text-align:right; }
.share span { display:inline-block; width:130px; height:8px; border-radius:4px; background:var(--grid); overflow:hidden; }
.share i { display:block; height:100%; background:var(--c0); }
code, pre { font:13px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace; }
td code { overflow-wrap:anywhere; }
pre { margin:0; background:var(--card); border:1px solid var(--line); border-radius:10px; padding:14px 18px; overflow:auto; max-height:640px; }
pre b { font-weight:400; color:var(--key); } pre i { color:var(--faint); }
footer { margin-top:32px; color:var(--faint); font-size:13px; }
@media print { .chart, .pictures figure { break-inside:avoid; } pre { max-height:none; } }
)css";
}

std::string_view report_script() {
  return R"js('use strict';
(() => {
  const svg_element = (name, attributes) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    return e;
  };
  const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  const value_text = (v, chart) => {
    if (v === null || v === undefined) return '–';
    if (chart.count) return Number.isInteger(v) ? grouped(v) : String(Number(v.toPrecision(5)));
    return Number((v / chart.divisor).toPrecision(5)) + (chart.unit ? '\u2009' + chart.unit : '');
  };
  // The place in rising numbers that is nearest to a value.
  const nearest = (list, value) => {
    let low = 0, high = list.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (list[middle] <= value) low = middle; else high = middle;
    }
    return Math.abs(list[low] - value) <= Math.abs(list[high] - value) ? low : high;
  };
  const add_row = (table, name, value, colour) => {
    const row = table.insertRow(), first = row.insertCell();
    if (colour !== null) { const mark = document.createElement('i'); mark.className = 's' + colour; first.append(mark); }
    first.append(name);
    row.insertCell().textContent = value;
  };
  const make_chart = figure => {
    const chart = JSON.parse(figure.querySelector('script').textContent);
    const svg = figure.querySelector('svg'), [left, top, width, height] = chart.box;
    const place_x = x => left + (x - chart.x[0]) / (chart.x[1] - chart.x[0]) * width;
    const place_y = y => top + (chart.y[1] - y) / (chart.y[1] - chart.y[0]) * height;
    const marks = svg_element('g', {}), tip = document.createElement('div');
    svg.append(marks);
    tip.className = 'tip';
    tip.hidden = true;
    figure.append(tip);
    const hide = () => { marks.replaceChildren(); tip.hidden = true; };
    const show = event => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const at = chart.x[0] + ((event.clientX - box.left) * scale - left) / width * (chart.x[1] - chart.x[0]);
      const lead = chart.series[0], x = lead.x[nearest(lead.x, at)];
      const table = document.createElement('table'), rows = [];
      hide();
      const bars = chart.kind === 'bars';
      if (bars) {
        const each = lead.x.length > 1 ? place_x(lead.x[1]) - place_x(lead.x[0]) : width;
        marks.append(svg_element('rect', {class: 'band', x: place_x(x) - each / 2, y: top, width: each, height}));
      } else marks.append(svg_element('path', {class: 'cross', d: `M${place_x(x)} ${top}v${height}`}));
      chart.series.forEach((s, i) => {
        const y = s.y[nearest(s.x, x)];
        rows.push([s.name, y, i]);
        if (!bars && y !== null) marks.append(svg_element('circle', {class: 'dot s' + i, cx: place_x(x), cy: place_y(y), r: 3.5}));
      });
      add_row(table, 'frame', Number(x.toFixed(2)), null);
      if (bars && rows.length > 1) add_row(table, 'all', value_text(rows.reduce((sum, r) => sum + (r[1] || 0), 0), chart), null);
      for (const [name, y, i] of rows) add_row(table, name, value_text(y, chart), i);
      tip.replaceChildren(table);
      tip.hidden = false;
      const home = figure.getBoundingClientRect(), here = event.clientX - home.left;
      const beside = here + 18 + tip.offsetWidth > home.width ? here - 18 - tip.offsetWidth : here + 18;
      tip.style.left = Math.max(4, beside) + 'px';
      tip.style.top = box.top - home.top + 14 + 'px';
    };
    svg.addEventListener('pointermove', show);
    svg.addEventListener('pointerdown', show);
    svg.addEventListener('pointerleave', hide);
  };
  const charts = document.querySelectorAll('figure.chart');
  charts.forEach(make_chart);
  document.querySelectorAll('.flip').forEach(flip => {
    const slider = flip.querySelector('input'), pictures = flip.querySelectorAll('img');
    if (slider) slider.addEventListener('input', () => {
      pictures.forEach((p, i) => { p.hidden = i !== Number(slider.value); });
      flip.querySelector('output').textContent = pictures[slider.value].alt;
    });
  });
  document.querySelectorAll('.pictures img').forEach(p => p.addEventListener('click', () => p.closest('figure').classList.toggle('large')));
  document.documentElement.dataset.charts = charts.length;
})();
)js";
}

}  // namespace aegir
