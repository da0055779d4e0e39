/* SPDX-License-Identifier: Apache-2.0 */
/* A library to load and unload. */
__attribute__((visibility("default"))) int EmptyPlugin(void) { return 1; }
