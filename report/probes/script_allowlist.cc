// SPDX-License-Identifier: Apache-2.0
#include "report/probes/script_allowlist.h"

#include <openssl/evp.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace lagwatch::report {
namespace {

// In the document, so that nothing else that the same key signed can be taken for a list.
constexpr char kKindOfList[] = "lagwatch probe scripts";

bool IsUtf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

base::Status CheckScript(const AllowedScript& script) {
  using Allowlist = ScriptAllowlist;
  const bool is_named = !script.name.empty() && script.name.size() <= Allowlist::kMaxNameBytes;
  if (!is_named)
    return {base::StatusCode::kInvalid,
            "a script's name has 1 to " + std::to_string(Allowlist::kMaxNameBytes) + " bytes"};
  if (script.text.empty() || script.text.size() > Allowlist::kMaxTextBytes)
    return {base::StatusCode::kInvalid, "the script " + script.name + " does not have 1 to " +
                                            std::to_string(Allowlist::kMaxTextBytes) + " bytes"};
  if (!IsUtf8(script.name) || !IsUtf8(script.text))
    return {base::StatusCode::kInvalid, "the script " + script.name + " is not UTF-8"};
  return {};
}

base::Result<AllowedScript> ReadScript(const nlohmann::json& item) {
  const auto text_of = [&](const char* key) {
    const auto found = item.find(key);
    return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!item.is_object())
    return base::Status(base::StatusCode::kInvalid, "the list of scripts has an entry that is no object");
  AllowedScript script{.name = text_of("name"), .text = text_of("text")};
  if (base::Status status = CheckScript(script); !status.ok()) return status;
  script.hash = HashOfScript(script.text);
  if (text_of("sha256") != script.hash)
    return base::Status(base::StatusCode::kInvalid,
                        "the list's hash of the script " + script.name + " is another script's");
  return script;
}

}  // namespace

std::string HashOfScript(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) != 1) return {};
  return base::ToHex(std::span(digest, size));
}

bool IsScriptHash(std::string_view text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

uint64_t KeyOfScript(std::string_view hash) {
  constexpr size_t kKeyDigits = 16;
  return IsScriptHash(hash) ? base::ParseNumber<uint64_t>(hash.substr(0, kKeyDigits), 16).value_or(0) : 0;
}

base::Result<ScriptAllowlist> ScriptAllowlist::Open(std::string_view envelope, const PublicKey& key) {
  const std::string text = LAGWATCH_TRY(OpenSigned(envelope, key));
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool is_list = document.is_object() && document.value("kind", nlohmann::json()) == kKindOfList &&
                       document.contains("scripts") && document["scripts"].is_array();
  if (!is_list) return base::Status(base::StatusCode::kInvalid, "what was signed is no list of scripts");
  if (document["scripts"].size() > kMaxScripts)
    return base::Status(base::StatusCode::kInvalid,
                        "the list has more than " + std::to_string(kMaxScripts) + " scripts");
  ScriptAllowlist list;
  for (const nlohmann::json& item : document["scripts"])
    list.scripts_.push_back(LAGWATCH_TRY(ReadScript(item)));
  return list;
}

base::Result<std::string> ScriptAllowlist::DocumentOf(const std::vector<AllowedScript>& scripts) {
  nlohmann::json items = nlohmann::json::array();
  std::set<std::string> names;
  for (const AllowedScript& script : scripts) {
    if (base::Status status = CheckScript(script); !status.ok()) return status;
    if (!names.insert(script.name).second)
      return base::Status(base::StatusCode::kInvalid, "two scripts have the name " + script.name);
    items.push_back({{"name", script.name}, {"sha256", HashOfScript(script.text)}, {"text", script.text}});
  }
  if (scripts.size() > kMaxScripts)
    return base::Status(base::StatusCode::kInvalid,
                        "a list has " + std::to_string(kMaxScripts) + " scripts at most");
  const nlohmann::json document{{"kind", kKindOfList}, {"scripts", std::move(items)}};
  return document.dump();
}

const AllowedScript* ScriptAllowlist::Find(std::string_view hash) const {
  const auto found = std::ranges::find(scripts_, hash, &AllowedScript::hash);
  return found == scripts_.end() ? nullptr : &*found;
}

}  // namespace lagwatch::report
