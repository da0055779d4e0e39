// SPDX-License-Identifier: Apache-2.0
#include <sys/system_properties.h>

#include "sdk/report/program_facts.h"

namespace lagwatch::sdk {
namespace {

std::string Property(const char* name) {
  char value[PROP_VALUE_MAX] = "";
  __system_property_get(name, value);
  return value;
}

}  // namespace

std::string DistributionName() {
  return "Android " + Property("ro.build.version.release") + ", " + Property("ro.product.manufacturer") +
         " " + Property("ro.product.model");
}

}  // namespace lagwatch::sdk
