/* SPDX-License-Identifier: Apache-2.0 */
/* A library that takes its time to load. */
void OnPluginLoaded(void);

__attribute__((constructor)) static void Load(void) { OnPluginLoaded(); }
