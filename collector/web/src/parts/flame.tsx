// SPDX-License-Identifier: Apache-2.0
// A flame graph that goes down from callers to callees. With the keyboard: arrows go from frame to frame, Enter
// zooms in, Escape out.
import flamegraph, { type FlameChart, type LaidOutNode } from "d3-flame-graph";
import { select } from "d3-selection";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { shortName } from "../format/frames";
import { marked } from "../format/marks";
import { duration, percent } from "../format/numbers";
import {
  flameTree,
  foldedTree,
  frameHue,
  type FlameFrame,
  type FlameNode,
  type FlameOrder,
  type TimedStack,
} from "./flame_tree";
import { SourceLink } from "./source_link";
import { isDark } from "./theme";
import "./flame.css";

const kFrameHeight = 20;
const kMostNodes = 800; // that a browser draws in a moment
const kHint = "Arrow keys go from frame to frame, Enter zooms in, Escape zooms out.";

function describe(node: LaidOutNode, total: number, show: (value: number) => string): string {
  const { frame, name, value } = node.data;
  const share = `${show(value)}, ${percent(value / total)}`;
  if (node.data.folded) return `${name} functions: ${share}. Enter or a click shows them`;
  if (!frame) return `all: ${share}`;
  const line = frame.file ? ` at ${frame.file}${frame.line ? `:${frame.line}` : ""}` : "";
  return `${name}${line} (${frame.module || "no module"}): ${share}`;
}

function colorOf(node: LaidOutNode, isOnDark: boolean): string {
  const hue = node.data.frame ? frameHue(node.data.frame) : null;
  if (node.highlight) return isOnDark ? "hsl(265 85% 78%)" : "hsl(265 85% 80%)";
  if (hue === null) return isOnDark ? "hsl(215 9% 62%)" : "hsl(215 12% 84%)";
  return isOnDark ? `hsl(${hue} 68% 62%)` : `hsl(${hue} 90% 76%)`;
}

function step(node: LaidOutNode, key: string): LaidOutNode | undefined {
  const shown = (each: LaidOutNode): boolean => !each.data.hide && each.x1 > each.x0;
  if (key === "ArrowUp") return node.parent ?? undefined;
  if (key === "ArrowDown") return node.children?.filter(shown).sort((a, b) => b.data.value - a.data.value)[0];
  // On its level, for any caller.
  let root = node;
  while (root.parent) root = root.parent;
  const level = root.descendants().filter((each) => each.depth === node.depth && shown(each));
  return level[level.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
}

class Drawing {
  private readonly chart: FlameChart;
  private current: LaidOutNode | null = null;

  constructor(
    private readonly element: HTMLElement,
    whole: FlameNode,
    private readonly onCurrent: (text: string) => void,
    private readonly onFolded: (node: FlameNode) => void,
    private readonly onSelected: (frame: FlameFrame | null) => void,
    show: (value: number) => string,
  ) {
    const tree = foldedTree(whole, kMostNodes);
    this.chart = flamegraph()
      .width(element.clientWidth)
      .cellHeight(kFrameHeight)
      .inverted(true)
      .selfValue(false)
      .minFrameSize(1)
      .transitionDuration(matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200)
      .getName((node) => marked(shortName(node.data.name)))
      .setLabelHandler((node) => marked(describe(node, tree.value, show)))
      .setColorMapper((node) => colorOf(node, isDark.value))
      .setSearchMatch(
        (node, term) => term !== "" && node.data.name.toLowerCase().includes(term.toLowerCase()),
      )
      .setSearchHandler(() => undefined)
      .onClick((node) => (node.data.folded ? this.onFolded(node.data.folded) : this.show(node)))
      .onHover((node) => onCurrent(describe(node, tree.value, show)));
    select(element).datum(tree).call(this.chart);
    this.describeCurrent = (node) => describe(node, tree.value, show);
  }

  private readonly describeCurrent: (node: LaidOutNode) => string;

  private root(): LaidOutNode {
    return select<HTMLElement, LaidOutNode>(this.element).datum();
  }

  show(node: LaidOutNode): void {
    this.current = node;
    select(this.element)
      .selectAll<SVGGElement, LaidOutNode>("g.frame")
      .attr("data-current", (each) => (each === node ? "" : null));
    this.element.querySelector("[data-current]")?.scrollIntoView({ block: "nearest" });
    this.onCurrent(this.describeCurrent(node));
    this.onSelected(node.data.frame);
  }

  search(term: string): void {
    if (term === "") this.chart.clear();
    else this.chart.search(term);
  }

  private zoom(node: LaidOutNode): void {
    if (node.data.folded) this.onFolded(node.data.folded);
    else this.chart.zoomTo(node);
  }

  // Whether the key was meant for it.
  onKey(key: string): boolean {
    const at = this.current ?? this.root();
    if (key === "Enter") this.zoom(at);
    else if (key === "Escape") this.chart.resetZoom();
    else if (key.startsWith("Arrow")) this.show(this.current ? (step(at, key) ?? at) : at);
    else return false;
    if (key === "Escape") this.show(this.root());
    return true;
  }

  remove(): void {
    this.chart.destroy();
  }
}

interface FlameProps {
  stacks: readonly TimedStack[];
  label: string;
  firstOrder?: FlameOrder;
  orders?: readonly FlameOrder[]; // that the stacks can be shown in
  show?: (value: number) => string; // of what is no time
}

const kOrders: Readonly<Record<FlameOrder, string>> = { "left-heavy": "Left heavy", time: "Time order" };
const kAllOrders: readonly FlameOrder[] = ["left-heavy", "time"];

export function Flame({
  stacks,
  label,
  firstOrder = "left-heavy",
  orders = kAllOrders,
  show = duration,
}: FlameProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const [order, setOrder] = useState(firstOrder);
  const [term, setTerm] = useState("");
  const [text, setText] = useState("");
  const [selected, setSelected] = useState<FlameFrame | null>(null);
  const [width, setWidth] = useState(0);
  const [part, setPart] = useState<FlameNode | null>(null); // that was folded, and is shown alone
  const dark = isDark.value;
  const total = useMemo(
    () => stacks.reduce((sum, stack) => (stack.frames.length > 0 ? sum + Math.max(0, stack.ms) : sum), 0),
    [stacks],
  );

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!place.current || width === 0 || total === 0) return;
    const whole = part ?? flameTree(stacks, order);
    const drawn = new Drawing(place.current, whole, setText, setPart, setSelected, show);
    drawing.current = drawn;
    if (term !== "") drawn.search(term);
    return () => drawn.remove();
  }, [stacks, order, width, dark, part]);
  useEffect(() => setPart(null), [stacks, order]);
  useEffect(() => drawing.current?.search(term), [term]);

  return (
    <div class="flame">
      {total === 0 && <p class="muted">No stack was captured.</p>}
      <div class="flame-tools">
        {orders.length > 1 && (
          <div class="switch" role="group" aria-label="Order">
            {orders.map((each) => (
              <button key={each} aria-pressed={order === each} onClick={() => setOrder(each)}>
                {kOrders[each]}
              </button>
            ))}
          </div>
        )}
        <label class="find">
          <span class="unseen">Find a function</span>
          <input
            type="search"
            placeholder="Find a function"
            value={term}
            onInput={(event) => setTerm(event.currentTarget.value)}
          />
        </label>
        {part && <button onClick={() => setPart(null)}>All functions</button>}
        <span class="muted small">{show === duration ? `${duration(total)} of samples` : show(total)}</span>
      </div>
      <div
        ref={place}
        class="flame-graph"
        role="application"
        aria-roledescription="flame graph"
        aria-label={`${label}. ${kHint}`}
        tabIndex={0}
        onKeyDown={(event) => {
          if (!event.ctrlKey && !event.metaKey && !event.altKey && drawing.current?.onKey(event.key))
            event.preventDefault();
        }}
      />
      <p class="flame-text mono" role="status">
        {text || <span class="muted">{kHint}</span>}
      </p>
      {selected?.file && (
        <p class="mono small">
          Selected:{" "}
          <SourceLink frame={selected}>
            {selected.file + (selected.line ? `:${selected.line}` : "")}
          </SourceLink>
        </p>
      )}
    </div>
  );
}
