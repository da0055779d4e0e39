// SPDX-License-Identifier: Apache-2.0
// Types of the used part of d3-flame-graph, which has none.
declare module "d3-flame-graph" {
  import type { Selection } from "d3-selection";
  import type { FlameNode } from "./flame_tree";

  // As d3-hierarchy lays it out: x in parts of the whole width.
  export interface LaidOutNode {
    readonly data: FlameNode & { readonly hide?: boolean; readonly fade?: boolean };
    readonly depth: number;
    readonly parent: LaidOutNode | null;
    readonly children?: readonly LaidOutNode[];
    readonly x0: number;
    readonly x1: number;
    readonly highlight?: boolean;
    descendants(): LaidOutNode[];
  }

  export interface FlameChart {
    (selection: Selection<any, any, any, any>): void;
    width(pixels: number): this;
    cellHeight(pixels: number): this;
    inverted(isInverted: boolean): this;
    selfValue(isSelf: boolean): this;
    minFrameSize(pixels: number): this;
    transitionDuration(ms: number): this;
    getName(name: (node: LaidOutNode) => string): this;
    setLabelHandler(label: (node: LaidOutNode) => string): this;
    setColorMapper(color: (node: LaidOutNode) => string): this;
    setSearchMatch(matches: (node: LaidOutNode, term: string) => boolean): this;
    setSearchHandler(handler: () => void): this;
    onClick(handler: (node: LaidOutNode) => void): this;
    onHover(handler: (node: LaidOutNode) => void): this;
    search(term: string): void;
    clear(): void;
    zoomTo(node: LaidOutNode): void;
    resetZoom(): void;
    destroy(): void;
  }

  export default function flamegraph(): FlameChart;
}
