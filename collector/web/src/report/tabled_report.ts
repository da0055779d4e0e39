// SPDX-License-Identifier: Apache-2.0
// A report as the collector sends it: large ones are a tenth in size with each frame once.
import type { Report, TabledReport } from "../api/types";

export function untabled({ frames, samples, threads, ...rest }: TabledReport): Report {
  const stackOf = (numbers: readonly number[]): Report["expensive_stack"] =>
    numbers.map((number) => frames[number]!);
  return {
    ...rest,
    samples: samples.map((sample) => ({ ...sample, stack: stackOf(sample.stack) })),
    threads: threads.map((thread) => ({ ...thread, stack: stackOf(thread.stack) })),
  };
}
