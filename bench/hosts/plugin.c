// SPDX-License-Identifier: Apache-2.0
// The library that loader_hosts.c loads.
void RunInConstructor(void);

__attribute__((constructor)) static void Construct(void) { RunInConstructor(); }
