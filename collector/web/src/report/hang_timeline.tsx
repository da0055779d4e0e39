// SPDX-License-Identifier: Apache-2.0
// The hang from its beginning, its samples, and the dispatches before it.
import type { Report } from "../api/types";
import { shortName } from "../format/frames";
import { duration, plural } from "../format/numbers";
import { frameHue } from "../parts/flame_tree";
import { Folded } from "../parts/folded";
import { Table } from "../parts/table";
import { timelineOf, type Timeline } from "./report_times";

const kTicks = 6;

// Round steps: 1, 2 or 5 of a power of ten.
export function tickStep(spanMs: number, ticks: number): number {
  const rough = spanMs / ticks;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((step) => step * power >= rough) ?? 10) * power;
}

const kLastName = 0.88; // of the axis: the name of a later tick has no room on a phone

function ticksOf({ fromMs, toMs }: Timeline): number[] {
  const step = tickStep(toMs - fromMs, kTicks);
  const ticks: number[] = [];
  const first = Math.ceil(fromMs / step);
  // Not by adding: of numbers that are large enough, a step more is the same number.
  for (let i = 0; i <= 2 * kTicks && (first + i) * step <= toMs; ++i) ticks.push((first + i) * step);
  return ticks;
}

// The innermost frame of the program itself says most; the system's are all alike.
function sampleFrame(report: Report, index: number) {
  const { stack } = report.samples[index]!;
  return stack.find((frame) => frameHue(frame) !== null) ?? stack[0];
}

export function HangTimeline({ report }: { report: Report }) {
  const line = timelineOf(report);
  const span = line.toMs - line.fromMs;
  const left = (ms: number): string => `${(100 * (Math.max(ms, line.fromMs) - line.fromMs)) / span}%`;
  const width = (fromMs: number, toMs: number): string =>
    `${(100 * Math.max(0, Math.min(toMs, line.toMs) - Math.max(fromMs, line.fromMs))) / span}%`;
  const hidden = line.dispatches.filter((each) => each.fromMs + each.wallMs < line.fromMs).length;
  return (
    <section class="card timeline" aria-label="Time line">
      <h2>Time line</h2>
      <div class="time-lanes">
        <div class="lane" aria-hidden="true">
          <span class="lane-name">dispatches</span>
          <div class="lane-line">
            {line.dispatches
              .filter((each) => each.fromMs + each.wallMs >= line.fromMs)
              .map((each, i) => (
                <i
                  key={i}
                  class="dispatch"
                  style={{ left: left(each.fromMs), width: width(each.fromMs, each.fromMs + each.wallMs) }}
                  title={`${each.tag || "untagged"}: ${duration(each.wallMs)}`}
                />
              ))}
            <i
              class="hang"
              style={{ left: left(0), width: width(0, line.hangMs) }}
              title={`${report.tag || "this dispatch"}: ${duration(line.hangMs)}`}
            >
              <span>{report.tag || "hang"}</span>
            </i>
          </div>
        </div>
        <div class="lane" aria-hidden="true">
          <span class="lane-name">samples</span>
          <div class="lane-line">
            {line.samples.map((each) => {
              const frame = sampleFrame(report, each.index);
              const hue = frame ? frameHue(frame) : null;
              return (
                <i
                  key={each.index}
                  class="sample"
                  data-system={hue === null || undefined}
                  style={{
                    left: left(each.atMs),
                    width: width(each.atMs, each.untilMs),
                    "--hue": `${hue ?? 215}`,
                  }}
                  title={`${duration(each.atMs)}: ${frame?.function ?? "no stack"}`}
                />
              );
            })}
          </div>
        </div>
        <div class="lane">
          <span class="lane-name" />
          <div class="lane-line axis" aria-hidden="true">
            {ticksOf(line).map((at) => (
              <span key={at} style={{ left: left(at) }}>
                {at - line.fromMs < kLastName * (line.toMs - line.fromMs) && duration(at)}
              </span>
            ))}
          </div>
        </div>
        <div class="moments" aria-hidden="true">
          <i
            style={{ left: left(report.threshold_ms) }}
            title={`Threshold: ${duration(report.threshold_ms)}`}
          />
          <i
            class="reported"
            style={{ left: left(line.reportedMs) }}
            title={`Reported at ${duration(line.reportedMs)}`}
          />
        </div>
      </div>
      <p class="muted small">
        Began at 0; over the threshold at {duration(report.threshold_ms)}; reported at{" "}
        {duration(line.reportedMs)};{" "}
        {report.ended ? `over at ${duration(line.hangMs)}` : "its end is unknown"}.
        {hidden > 0 && ` ${plural(hidden, "earlier dispatch", "earlier dispatches")} not shown.`}
      </p>
      <Folded
        summary={
          <>
            {plural(line.dispatches.length, "dispatch", "dispatches")} before,{" "}
            {plural(report.samples.length, "sample")}, as a table
          </>
        }
      >
        <div class="tables">
          <Table
            label="Dispatches before the hang"
            columns={[
              "Dispatch",
              { number: "Began" },
              { number: "Took" },
              { number: "CPU" },
              { number: "In queue" },
            ]}
          >
            {line.dispatches.map((each, i) => (
              <tr key={i}>
                <td>{each.tag || <span class="muted">untagged</span>}</td>
                <td class="number">{duration(each.fromMs)}</td>
                <td class="number">{duration(each.wallMs)}</td>
                <td class="number">{duration(each.cpuMs)}</td>
                <td class="number">{duration(each.queueWaitMs)}</td>
              </tr>
            ))}
          </Table>
          <Table
            label="Samples of the hang"
            columns={[{ number: "At" }, { number: "CPU since" }, "Innermost function"]}
          >
            {line.samples.map((each) => (
              <tr key={each.index}>
                <td class="number">{duration(each.atMs)}</td>
                <td class="number">{duration(report.samples[each.index]!.cpu_ms)}</td>
                <td class="mono">{shortName(sampleFrame(report, each.index)?.function ?? "no stack")}</td>
              </tr>
            ))}
          </Table>
        </div>
      </Folded>
    </section>
  );
}
