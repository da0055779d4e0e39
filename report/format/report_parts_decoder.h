// SPDX-License-Identifier: Apache-2.0
// The messages within a report. Each throws what Guarded() (guarded_read.h) turns into a Status.
// Internal to report/format.
#pragma once

#include "report/format/protozero_checked.h"
#include "report/format/report.h"

namespace lagwatch::report {

Module ReadModule(protozero::pbf_message<ModuleField> message);
Stack ReadStack(protozero::pbf_message<StackField> message);
Sample ReadSample(protozero::pbf_message<SampleField> message);
Thread ReadThread(protozero::pbf_message<ThreadField> message);
policies::Verdict ReadVerdict(protozero::pbf_message<VerdictField> message);
policies::GuardFindings ReadGuard(protozero::pbf_message<GuardField> message);
PastDispatch ReadPastDispatch(protozero::pbf_message<PastDispatchField> message);
Fact ReadFact(protozero::pbf_message<FactField> message);
Wait ReadWait(protozero::pbf_message<WaitField> message);
Symbol ReadSymbol(protozero::pbf_message<SymbolField> message);

}  // namespace lagwatch::report
