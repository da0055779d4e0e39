// SPDX-License-Identifier: Apache-2.0
// Functions whose calls are recorded. Each calls another one, which does `work`.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void hooked_work(void (*work)(void*), void* context);
void patchable_work(void (*work)(void*), void* context);

#ifdef __cplusplus
}
#endif
