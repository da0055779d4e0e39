// SPDX-License-Identifier: Apache-2.0
// Questions to the collector, and its answers.
import { below } from "./base";
import { session, signOut, type Session } from "./session";

export type Params = Readonly<Record<string, string | number | null | undefined>>;

// An error of the collector, with its message; status 0: not reachable.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export function withQuery(path: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

async function errorOf(response: Response): Promise<ApiError> {
  const answer: unknown = await response.json().catch(() => null);
  const error = (answer as { error?: { code?: string; message?: string } } | null)?.error;
  return new ApiError(
    response.status,
    error?.code ?? "unknown",
    error?.message ?? `the collector answered ${response.status}`,
  );
}

export async function ask(
  path: string,
  init: RequestInit = {},
  token = session.value?.token ?? "",
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${token}`);
  const response = await fetch(below(path), { ...init, headers, cache: "no-store" }).catch(
    (error: unknown) => {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError(0, "unreachable", "the collector cannot be reached; try again");
    },
  );
  if (response.ok) return response;
  if (response.status === 401 && token === session.value?.token) signOut();
  throw await errorOf(response);
}

export async function get<T>(path: string, params: Params = {}, abort?: AbortSignal): Promise<T> {
  const response = await ask(withQuery(path, params), abort ? { signal: abort } : {});
  return (await response.json()) as T;
}

export interface Tagged<T> {
  readonly data: T;
  readonly etag: string; // for a change of it
}

export async function getTagged<T>(path: string, abort?: AbortSignal): Promise<Tagged<T>> {
  const response = await ask(path, abort ? { signal: abort } : {});
  return { data: (await response.json()) as T, etag: response.headers.get("ETag") ?? "" };
}

export async function change<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  etag = "", // only if the thing still has this tag
): Promise<T> {
  const headers: Record<string, string> = etag === "" ? {} : { "If-Match": etag };
  const init: RequestInit = { method, headers };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  return (await (await ask(path, init)).json()) as T;
}

export async function openSession(token: string): Promise<Session> {
  const response = await ask("/v1/key", {}, token).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401)
      throw new ApiError(401, "unauthorized", "this collector does not know the token, or it was revoked");
    throw error;
  });
  const key = (await response.json()) as Omit<Session, "token">;
  if (key.access === "project")
    throw new ApiError(
      403,
      "forbidden",
      "this is a project key, for sending only; sign in with a read or admin token",
    );
  return { token, ...key };
}

function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Hands text to the reader as a file.
export function saveAs(name: string, text: string, type = "application/json"): void {
  saveBlob(name, new Blob([text], { type }));
}

export async function download(path: string, params: Params, name: string): Promise<void> {
  const response = await ask(withQuery(path, params));
  saveAs(name, await response.text(), response.headers.get("Content-Type") ?? "text/plain");
}

// By the name that the collector has for it.
export async function downloadFile(path: string, params: Params): Promise<void> {
  const response = await ask(withQuery(path, params));
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  saveBlob(name ?? "lagwatch-file", await response.blob());
}
