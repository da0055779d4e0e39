// SPDX-License-Identifier: Apache-2.0
// Who is signed in sees the pages, everybody else the way in.
import { ErrorBoundary, lazy, LocationProvider, Route, Router } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { ApiError, openSession } from "./api/client";
import { listen } from "./api/live";
import { keepSession, session, takeToken } from "./api/session";
import { CausesPage } from "./causes/causes_page";
import { Shell } from "./parts/shell";
import { SignIn } from "./parts/sign_in";
import { Loading, NotThere } from "./parts/states";

const CausePage = lazy(() => import("./cause/cause_page").then((file) => file.CausePage));
const ReportPage = lazy(() => import("./report/report_page").then((file) => file.ReportPage));
const RatePage = lazy(() => import("./rate/rate_page").then((file) => file.RatePage));
const SettingsPage = lazy(() => import("./settings/settings_page").then((file) => file.SettingsPage));
const LivePage = lazy(() => import("./live/live_page").then((file) => file.LivePage));
const ConnectPage = lazy(() => import("./live/connect_page").then((file) => file.ConnectPage));

function Pages() {
  useEffect(listen, []);
  return (
    <LocationProvider>
      <Shell>
        <ErrorBoundary>
          <Router>
            <Route path="/" component={CausesPage} />
            <Route path="/causes/:cause" component={CausePage} />
            <Route path="/reports/:report" component={ReportPage} />
            <Route path="/hang-rate" component={RatePage} />
            <Route path="/live" component={LivePage} />
            <Route path="/settings" component={SettingsPage} />
            <Route path="/connect" component={ConnectPage} />
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
      setRefusal(error as ApiError);
    }
    setOpening(false);
  };
  useEffect(() => {
    const token = takeToken();
    if (token === null) setOpening(false);
    else void open(token);
  }, []);
  if (session.value) return <Pages />;
  if (isOpening) return <Loading what="the collector" />;
  return <SignIn refusal={refusal} onToken={open} />;
}
