// SPDX-License-Identifier: Apache-2.0
// The frame of each page: the name, the links to the others, the session.
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { below } from "../api/base";
import { isListening } from "../api/live";
import { isAdmin, session, signOut } from "../api/session";
import { nextTheme, theme } from "./theme";

const kThemeSigns = { system: "◐", light: "○", dark: "●" } as const;

function Way({ to, children }: { to: string; children: ComponentChildren }) {
  const { path } = useLocation();
  const isHere =
    to === "/" ? path === below("/") || path.startsWith(below("/causes/")) : path.startsWith(below(to));
  return (
    <a href={to} aria-current={isHere ? "page" : undefined}>
      {children}
    </a>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#3b5bdb" />
      <path
        d="M4 16h4l2.5-7 3.5 14 2-7h2"
        fill="none"
        stroke="#fff"
        stroke-width="2.4"
        stroke-linejoin="round"
      />
      <path
        d="M20 16h8"
        stroke="#ffd43b"
        stroke-width="2.4"
        stroke-linecap="round"
        stroke-dasharray="0.1 4"
      />
    </svg>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const live = isListening.value;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="lagwatch, all causes">
          <Logo />
          <span>lagwatch</span>
        </a>
        <nav aria-label="Pages">
          <Way to="/">Causes</Way>
          <Way to="/hang-rate">Hang rate</Way>
          <Way to="/live">
            Live <i class={live ? "pulse on" : "pulse"} aria-hidden="true" />
          </Way>
          <Way to="/probes">Probes</Way>
          {isAdmin() && <Way to="/settings">Settings</Way>}
          <Way to="/glossary">Glossary</Way>
        </nav>
        <div class="who">
          <button
            class="quiet"
            onClick={nextTheme}
            aria-label={`Colours: ${theme.value}`}
            title={`Colours: ${theme.value}`}
          >
            {kThemeSigns[theme.value]}
          </button>
          <button
            class="quiet"
            onClick={signOut}
            title={`Signed in with the ${session.value?.access} key “${session.value?.name}”`}
          >
            Sign out
          </button>
        </div>
        <span class="unseen" role="status">
          {live ? "New reports appear automatically" : "Not connected for new reports"}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
