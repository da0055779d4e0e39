// SPDX-License-Identifier: Apache-2.0
// The contents of stores that tests and pictures are about, as tests/collector/seed/seed_store.cc names them.
// Each adds its records to `seeder`; the caller flushes it.
#pragma once

namespace lagwatch::testing {

class Seeder;

void SeedStory(Seeder* seeder);
void SeedHostile(Seeder* seeder);
void SeedImplausible(Seeder* seeder);
void SeedLarge(Seeder* seeder);
void SeedMany(Seeder* seeder, int count);

}  // namespace lagwatch::testing
