// SPDX-License-Identifier: Apache-2.0
// A library whose file is deleted once it is loaded: one function is exported, the other is not.

volatile int plugin_sum;

static __attribute__((noinline)) int PluginHidden(int value) {
  plugin_sum += value;
  return plugin_sum;
}

__attribute__((visibility("default"), noinline)) int PluginExported(int value) {
  return PluginHidden(value) + 1;
}

__attribute__((visibility("default"))) int (*const plugin_hidden)(int) = &PluginHidden;
