// SPDX-License-Identifier: Apache-2.0
import { useRef } from "preact/hooks";
import { ErrorBox } from "./states";

export function SignIn({ refusal, onToken }: { refusal: Error | null; onToken: (token: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (token !== "") onToken(token);
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>lagwatch</h1>
        <p>Hangs of your users' programs. Sign in with a token of this collector.</p>
        {refusal && <ErrorBox error={refusal} />}
        <label>
          Read or admin token
          <input
            ref={field}
            type="password"
            name="token"
            autocomplete="current-password"
            placeholder="r_… or a_…"
            autofocus
            required
          />
        </label>
        <button class="main" type="submit">
          Sign in
        </button>
        <p class="muted small">
          The admin token is in <code>admin-token</code> in the collector's data directory; an admin makes
          others in Settings, or with <code>lagwatch-collector keys add</code>. The token stays in this
          browser until you sign out.
        </p>
      </form>
    </main>
  );
}
