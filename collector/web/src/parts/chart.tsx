// SPDX-License-Identifier: Apache-2.0
// A chart over days, drawn by uPlot, and the same numbers as a table for screen readers.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { day } from "../format/times";
import { Table } from "./table";
import { cssColor, isDark } from "./theme";
import "./chart.css";

const kSecondsPerDay = 86_400;

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly color: string; // a CSS variable's name
  readonly isDashed?: boolean;
}

interface ChartProps {
  label: string;
  daysMs: readonly number[];
  lines: readonly Line[];
  format: (value: number) => string;
  kind?: "line" | "bars";
  height?: number;
}

const kPixelsPerDate = 76;

// Days with a date below them, the last one first among those that have room: one day alone has its date, too.
export function daySplits(daysMs: readonly number[], width: number): number[] {
  const step = Math.max(1, Math.ceil((daysMs.length * kPixelsPerDate) / Math.max(width - kPixelsPerDate, 1)));
  return daysMs.filter((_, i) => (daysMs.length - 1 - i) % step === 0).map((ms) => ms / 1000);
}

function optionsOf(
  { daysMs, lines, format, kind, height }: Required<ChartProps>,
  width: number,
): uPlot.Options {
  const axis = {
    stroke: cssColor("--muted"),
    grid: { stroke: cssColor("--line"), width: 1 },
    ticks: { stroke: cssColor("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const paths = kind === "bars" ? uPlot.paths.bars!({ size: [0.6, 40] }) : undefined;
  return {
    width,
    height,
    cursor: { points: { size: 7 } },
    legend: { live: true },
    tzDate: (s) => uPlot.tzDate(new Date(s * 1000), "Etc/UTC"),
    // Half a day more on both sides, for the bars there.
    scales: {
      x: { range: (_, least, most) => [least - kSecondsPerDay / 2, most + kSecondsPerDay / 2] },
      y: { range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        values: (_, splits) => splits.map((s) => day(s * 1000)),
        splits: (plot) => daySplits(daysMs, plot.width),
      },
      { ...axis, size: 76, values: (_, splits) => splits.map(format) },
    ],
    series: [
      { label: "Day", value: (_, s) => (s === null ? "–" : day(s * 1000)) },
      ...lines.map((line): uPlot.Series => {
        const stroke = cssColor(line.color);
        return {
          label: line.name,
          stroke,
          width: 2,
          spanGaps: true,
          value: (_, value) => (value === null || value === undefined ? "–" : format(value)),
          ...(paths ? { paths, fill: stroke, points: { show: false } } : {}),
          ...(line.isDashed ? { dash: [6, 4] } : {}),
        };
      }),
    ],
  };
}

export function Chart({ kind = "line", height = 220, ...given }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const props = { kind, height, ...given };
  const { label, daysMs, lines, format } = props;
  const dark = isDark.value;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const data = [
      daysMs.map((ms) => ms / 1000),
      ...lines.map((line) => [...line.values]),
    ] as uPlot.AlignedData;
    const plot = new uPlot(optionsOf(props, element.clientWidth), data, element);
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (width > 0 && width !== plot.width) plot.setSize({ width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify([daysMs, lines]), dark]);
  return (
    <figure class="chart">
      <div
        ref={place}
        class="plot"
        style={{ minHeight: `${height + 34}px` }}
        role="img"
        aria-label={`${label}; the table below has the numbers`}
      />
      <details>
        <summary class="small">As a table</summary>
        <Table label={label} columns={["Day (UTC)", ...lines.map((line) => ({ number: line.name }))]}>
          {daysMs.map((ms, i) => (
            <tr key={ms}>
              <td>{day(ms)}</td>
              {lines.map((line) => (
                <td key={line.name} class="number">
                  {line.values[i] === null || line.values[i] === undefined ? "–" : format(line.values[i]!)}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}
