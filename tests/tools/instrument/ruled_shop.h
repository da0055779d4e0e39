// SPDX-License-Identifier: Apache-2.0
// The functions of ruled_program that rules treat differently.
#pragma once

namespace shop {

struct Cart {
  int items;
};

void Save(const Cart& cart);
void Save(int number);
namespace detail {
void Check(int number);
}
// Calls Check(), which is on no stack: it returns at once.
void Load(int ms);
void Freeze(int ms);

}  // namespace shop

extern "C" void add_numbers(int number);
// Of generated/table.cc.
extern "C" void find_in_table(int number);
