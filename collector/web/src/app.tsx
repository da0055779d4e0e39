// SPDX-License-Identifier: Apache-2.0
// Shows the pages to signed-in readers, and the sign-in form to others.
import type { FunctionComponent } from "preact";
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { below } from "./api/base";
import { ApiError, openSession } from "./api/client";
import { listen } from "./api/live";
import { broughtToken, keepSession, session, signOut, takeToken } from "./api/session";
import { CausesPage } from "./causes/causes_page";
import { Boundary } from "./parts/boundary";
import { Shell } from "./parts/shell";
import { SignIn } from "./parts/sign_in";
import { Loading, NotThere } from "./parts/states";

const CausePage = lazy(() => import("./cause/cause_page").then((file) => file.CausePage));
const ReportPage = lazy(() => import("./report/report_page").then((file) => file.ReportPage));
const RatePage = lazy(() => import("./rate/rate_page").then((file) => file.RatePage));
const ProbesPage = lazy(() => import("./probes/probes_page").then((file) => file.ProbesPage));
const ProbePage = lazy(() => import("./probes/probes_page").then((file) => file.ProbePage));
const SettingsPage = lazy(() => import("./settings/settings_page").then((file) => file.SettingsPage));
const GlossaryPage = lazy(() => import("./glossary/glossary_page").then((file) => file.GlossaryPage));
const LivePage = lazy(() => import("./live/live_page").then((file) => file.LivePage));
const ConnectPage = lazy(() => import("./live/connect_page").then((file) => file.ConnectPage));

// A page that fails does so alone, and until another page is gone to.
function guarded<Props extends object>(Page: FunctionComponent<Props>): FunctionComponent<Props> {
  return function Guarded(props: Props) {
    const { path } = useLocation();
    return (
      <Boundary key={path} what="the page">
        <Page {...props} />
      </Boundary>
    );
  };
}

const kPages = {
  causes: guarded(CausesPage),
  cause: guarded(CausePage),
  report: guarded(ReportPage),
  rate: guarded(RatePage),
  live: guarded(LivePage),
  probes: guarded(ProbesPage),
  probe: guarded(ProbePage),
  settings: guarded(SettingsPage),
  connect: guarded(ConnectPage),
  glossary: guarded(GlossaryPage),
};

function Pages() {
  useEffect(listen, []);
  return (
    <LocationProvider>
      <Shell>
        <ErrorBoundary>
          <Router>
            <Route path={below("/")} component={kPages.causes} />
            <Route path={below("/causes/:cause")} component={kPages.cause} />
            <Route path={below("/reports/:report")} component={kPages.report} />
            <Route path={below("/hang-rate")} component={kPages.rate} />
            <Route path={below("/live")} component={kPages.live} />
            <Route path={below("/probes")} component={kPages.probes} />
            <Route path={below("/probes/:script")} component={kPages.probe} />
            <Route path={below("/settings")} component={kPages.settings} />
            <Route path={below("/connect")} component={kPages.connect} />
            <Route path={below("/glossary")} component={kPages.glossary} />
            <Route default component={NotThere} />
          </Router>
        </ErrorBoundary>
      </Shell>
    </LocationProvider>
  );
}

export function App() {
  const [refusal, setRefusal] = useState<Error | null>(null);
  const [isOpening, setOpening] = useState(true);
  const open = async (token: string): Promise<void> => {
    setOpening(true);
    setRefusal(null);
    try {
      keepSession(await openSession(token));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) signOut();
      setRefusal(error as ApiError);
    }
    setOpening(false);
  };
  useEffect(() => {
    const token = takeToken();
    if (token === null) setOpening(false);
    else void open(token);
    // A link with a token that is opened in a tab that shows the page already.
    const onHash = (): void => {
      const brought = broughtToken();
      if (brought !== null) void open(brought);
    };
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  if (session.value) return <Pages key={session.value.token} />;
  if (isOpening) return <Loading what="the collector" />;
  return <SignIn refusal={refusal} onToken={open} />;
}
