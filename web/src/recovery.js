// Recovery: how long each server took after each trial until it was as fast as in its first one.

import { dot, gridY, line, text } from "@observablehq/plot";
import { h } from "./dom.js";
import { figure } from "./figure.js";
import { dashes, narrow, spaced } from "./labels.js";
import { curveColors } from "./language.js";
import * as numbers from "./numbers.js";
import { last } from "./rows.js";

/**
 * @import { Report } from "../build/document"
 * @import { Percents } from "./labels.js"
 */

/**
 * A chart of all servers. A cross is a server that did not recover while it was watched.
 * @param {Report} report
 */
export function recovery(report) {
  const colorOf = curveColors(report);
  const series = report.contenders
    .filter(({ recoveries }) => recoveries.length)
    .map(({ name, label, recoveries, language }, place) => ({
      name: numbers.short(label ?? name),
      place,
      color: colorOf({ language }),
      points: recoveries.map(({ recovered_after_s, burnt_for_s }, i) => ({
        trial: i + 1,
        seconds: recovered_after_s ?? burnt_for_s ?? 0,
        never: recovered_after_s === null,
      })),
    }));
  if (!series.length) return null;
  const all = series.flatMap(({ points }) => points);
  const most = Math.max(...all.map(({ seconds }) => seconds), 1) * 1.05;
  const trials = Math.max(...all.map(({ trial }) => trial));
  /** @type {Percents} */
  const up = { type: "linear", domain: [0, most], ticks: 5 };
  const ends = series.map(({ name, color, points }) => {
    const end = last(points);
    return { name, trial: end.trial, share: end.seconds, color };
  });
  const slow = all.filter(({ never }) => never).length;
  const summary = slow
    ? `No recovery after ${slow} of ${numbers.count(all.length, "trial")}.`
    : `Each server recovered after each trial, after ${numbers.duration(Math.max(...all.map(({ seconds }) => seconds)))} at most.`;
  return [
    h("p", {}, summary),
    figure(
      "Recovery after each trial",
      `Seconds from the end of each trial until the server was as fast as in its first one. ${summary}`,
      {
        width: 960,
        marginRight: narrow() ? 110 : 220,
        x: {
          label: "after trial",
          labelAnchor: "center",
          ticks: trials > 12 ? 10 : Array.from({ length: trials }, (_, i) => i + 1),
          tickFormat: "d",
        },
        y: { label: "seconds", ...up },
        marks: [
          gridY({ ticks: up.ticks }),
          ...series.flatMap(({ place, color, points }) => [
            line(points, {
              x: "trial",
              y: "seconds",
              stroke: color,
              strokeDasharray: dashes(place),
            }),
            dot(points, {
              x: "trial",
              y: "seconds",
              stroke: color,
              symbol: (point) => (point.never ? "times" : "circle"),
            }),
          ]),
          text(spaced(ends, up), {
            x: "trial",
            y: "place",
            text: narrow() ? "brief" : "name",
            textAnchor: "start",
            dx: 8,
            fill: (end) => end.color,
          }),
        ],
      },
      ["server", "after trial", "recovered after", "CPU time used after", "busy for"],
      report.contenders.flatMap(({ name, label, recoveries }) =>
        recoveries.map((each, i) => [
          numbers.short(label ?? name),
          String(i + 1),
          each.recovered_after_s === null ? "never" : numbers.duration(each.recovered_after_s),
          numbers.duration(each.cpu_burnt_s),
          `${each.idle === false ? "over " : ""}${numbers.duration(each.burnt_for_s)}`,
        ]),
      ),
    ),
  ];
}
