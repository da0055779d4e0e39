// SPDX-License-Identifier: Apache-2.0
// Stalls of threads that wait for another thread, process or machine, by the call that they wait in.
#pragma once

#include <functional>
#include <string>

#include "bench/verdict/stall.h"

namespace lagwatch::bench {

void Read(int descriptor);
void Receive(int descriptor);
void Poll(int descriptor);
void Select(int descriptor);
void EpollWait(int descriptor);
std::function<void(const Stall&)> OnPipe(void (*wait)(int));
std::function<void(const Stall&)> OnSocketPair(void (*wait)(int));
std::function<void(const Stall&)> OnTcp(void (*wait)(int));
std::function<void(const Stall&)> OnUnixSocket(const std::string& name, void (*wait)(int));
void AwaitName(const Stall& stall);
void FillAPipe(const Stall& stall);
void OpenANamedPipe(const Stall& stall);
void WaitForAChild(const Stall& stall);
void PollAChild(const Stall& stall);
void RunAShell(const Stall& stall);
void LockAFile(const Stall& stall, int (*lock)(int descriptor));
int LockWhole(int descriptor);
int LockRange(int descriptor);
void AwaitATimer(const Stall& stall);
void PollNothing(const Stall& stall);

}  // namespace lagwatch::bench
