// SPDX-License-Identifier: Apache-2.0
// Shown in place of data: loading, missing, or an error.
import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client";
import type { Resource } from "../api/resource";
import { useTitle } from "./use_title";

export function Loading({ what }: { what: string }) {
  return (
    <div class="state loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading {what} …
    </div>
  );
}

export function ErrorBox({ error, onRetry }: { error: Error; onRetry?: (() => void) | undefined }) {
  const status = error instanceof ApiError && error.status > 0 ? ` (${error.status})` : "";
  return (
    <div class="state error" role="alert">
      <strong>An error occurred{status}.</strong> {error.message}
      {onRetry && <button onClick={onRetry}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

// The same in place of a whole page.
export function EmptyPage({ title, children }: { title: string; children?: ComponentChildren }) {
  useTitle(title);
  return (
    <div class="state empty">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function NotThere() {
  return (
    <EmptyPage title="This page does not exist">
      <p>
        The address may be wrong. <a href="/">All causes</a>, <a href="/live">the newest reports</a>
      </p>
    </EmptyPage>
  );
}

// Shows a resource's state, or its content.
export function Shown<T>({
  resource,
  what,
  missing,
  children,
}: {
  resource: Resource<T>;
  what: string;
  missing?: ComponentChildren; // shown in place of the error 404
  children: (data: T) => ComponentChildren;
}) {
  if (resource.data === null) {
    if (missing && resource.error instanceof ApiError && resource.error.status === 404) return <>{missing}</>;
    if (resource.error) return <ErrorBox error={resource.error} onRetry={resource.reload} />;
    return <Loading what={what} />;
  }
  return (
    <>
      {resource.error && <ErrorBox error={resource.error} onRetry={resource.reload} />}
      {children(resource.data)}
    </>
  );
}
