// SPDX-License-Identifier: Apache-2.0
// The signed-in token, kept in this browser until the reader signs out.
import { signal } from "@preact/signals";

const kKept = "lagwatch.token";

export interface Session {
  readonly token: string;
  readonly name: string;
  readonly access: "project" | "read" | "admin";
}

export const session = signal<Session | null>(null);

// A link may bring a token after the '#', which no server gets to see: it is taken, and gone from the address.
export function broughtToken(): string | null {
  const brought = new URLSearchParams(location.hash.slice(1)).get("token");
  if (brought !== null) history.replaceState(null, "", location.pathname + location.search);
  return brought;
}

export const takeToken = (): string | null => broughtToken() ?? localStorage.getItem(kKept);

export function keepSession(opened: Session): void {
  localStorage.setItem(kKept, opened.token);
  session.value = opened;
}

export function signOut(): void {
  localStorage.removeItem(kKept);
  session.value = null;
}

export const isAdmin = (): boolean => session.value?.access === "admin";
