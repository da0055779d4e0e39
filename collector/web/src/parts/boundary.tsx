// SPDX-License-Identifier: Apache-2.0
// A part of a page that may fail alone: an error takes its place, and the rest of the page stays.
import { Component, type ComponentChildren } from "preact";

interface BoundaryProps {
  what: string; // "the time line"
  fallback?: (error: Error) => ComponentChildren;
  children: ComponentChildren;
}

export class Boundary extends Component<BoundaryProps, { error: Error | null }> {
  override state = { error: null as Error | null };

  static override getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render({ what, fallback, children }: BoundaryProps) {
    const { error } = this.state;
    if (error === null) return children;
    if (fallback) return fallback(error);
    return (
      <div class="state error" role="alert">
        <strong>This cannot be shown: {what}.</strong> {error.message}
        <button onClick={() => this.setState({ error: null })}>Try again</button>
      </div>
    );
  }
}
