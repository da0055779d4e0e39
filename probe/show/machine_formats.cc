// SPDX-License-Identifier: Apache-2.0
// JSON lines, StatsD and Prometheus.
#include <algorithm>

#include "probe/show/formats.h"
#include "probe/show/value_text.h"

namespace lagwatch::probe {
namespace {

// With letters, digits and `_` only.
std::string MetricName(std::string_view text) {
  std::string name;
  for (const char letter : text) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9');
    if (is_plain || (!name.empty() && name.back() != '_')) name += is_plain ? letter : '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "_" : name;
}

std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string KeyJson(const Aggregate& aggregate, const ResultRow& row, const AddressNamer& namer) {
  std::string json = "{";
  for (size_t i = 0; i < row.key.size(); ++i) {
    const Field& field = aggregate.keys[i];
    json += (i == 0 ? "" : ",") + QuotedJson(field.name) + ":" + ValueJson(field.shown, row.key[i], namer);
  }
  return json + "}";
}

std::string BucketsJson(const Aggregate& aggregate, const ResultRow& row) {
  std::string json = "[";
  for (size_t i = 0; i < row.buckets.size(); ++i) {
    if (row.buckets[i] == 0) continue;
    json += json.size() > 1 ? "," : "";
    json += "{\"from\":" + (i == 0 ? "null" : std::to_string(BucketBegin(aggregate, i))) +
            ",\"count\":" + std::to_string(row.buckets[i]) + "}";
  }
  return json + "]";
}

std::string ValueJsonOf(const Aggregate& aggregate, const ResultRow& row) {
  if (!row.has_value) return "null";
  return aggregate.kind == AggregateKind::kAverage || aggregate.shown == Shown::kFloat
             ? NumberText(RowNumber(aggregate, row))
             : std::to_string(row.number);
}

// {a="x",b="y"}, with `more` at the end; empty without any.
std::string Labels(const Aggregate& aggregate, const ResultRow& row, const AddressNamer& namer,
                   const std::string& more) {
  std::string labels;
  for (size_t i = 0; i < row.key.size(); ++i) {
    std::string value;
    for (const char letter : OneLine(ValueText(aggregate.keys[i].shown, row.key[i], namer))) {
      if (letter == '"' || letter == '\\') value += '\\';
      value += letter;
    }
    labels += (labels.empty() ? "" : ",") + MetricName(aggregate.keys[i].name) + "=\"" + value + "\"";
  }
  if (!more.empty()) labels += (labels.empty() ? "" : ",") + more;
  return labels.empty() ? "" : "{" + labels + "}";
}

std::string PrometheusHistogram(const Aggregate& aggregate, const std::string& name, const ResultRow& row,
                                const AddressNamer& namer) {
  std::string lines;
  uint64_t count = 0;
  for (size_t i = 0; i + 1 < row.buckets.size(); ++i) {
    count += row.buckets[i];
    if (row.buckets[i] == 0) continue;
    const std::string bound = std::to_string(BucketBegin(aggregate, i + 1) - 1);  // of whole numbers
    lines += name + "_bucket" + Labels(aggregate, row, namer, "le=\"" + bound + "\"") + " " +
             std::to_string(count) + "\n";
  }
  lines += name + "_bucket" + Labels(aggregate, row, namer, "le=\"+Inf\"") + " " + std::to_string(row.count) +
           "\n";
  return lines + name + "_count" + Labels(aggregate, row, namer, "") + " " + std::to_string(row.count) + "\n";
}

}  // namespace

std::string AsJsonLines(const Aggregate& aggregate, const AggregateResult& result,
                        const AddressNamer& namer) {
  std::string lines;
  for (const ResultRow& row : result.rows) {
    lines += "{\"aggregate\":" + QuotedJson(aggregate.name) + ",\"key\":" + KeyJson(aggregate, row, namer);
    if (IsHistogram(aggregate.kind)) {
      lines += ",\"count\":" + std::to_string(row.count) + ",\"buckets\":" + BucketsJson(aggregate, row);
    } else if (aggregate.kind == AggregateKind::kCount) {
      lines += ",\"count\":" + std::to_string(row.count);
    } else {
      lines += ",\"value\":" + ValueJsonOf(aggregate, row);
    }
    lines += result.is_at_least ? ",\"is_at_least\":true}\n" : "}\n";
  }
  return lines;
}

std::string AsJsonLine(const Program& program, const Record& record, const AddressNamer& namer) {
  std::string values;
  size_t index = 0;
  for (const Field& field : program.prints[record.print].fields) {
    if (field.shown == Shown::kLiteral) continue;
    values += (values.empty() ? "" : ",") + QuotedJson(field.name) + ":" +
              ValueJson(field.shown, record.values[index++], namer);
  }
  return "{\"time_ns\":" + std::to_string(record.mono_ns) + ",\"tid\":" + std::to_string(record.tid) +
         ",\"values\":{" + values + "}}\n";
}

std::string AsStatsd(const Aggregate& aggregate, const AggregateResult& result, const AddressNamer& namer) {
  std::string lines;
  for (const ResultRow& row : result.rows) {
    if (!row.has_value) continue;
    std::string name = "lagwatch." + MetricName(aggregate.name);
    for (size_t i = 0; i < row.key.size(); ++i) {
      name += '.' + MetricName(ValueText(aggregate.keys[i].shown, row.key[i], namer));
    }
    lines += name + ':' + NumberText(RowNumber(aggregate, row)) + "|g\n";
  }
  if (result.is_at_least) lines += "lagwatch." + MetricName(aggregate.name) + "_is_at_least:1|g\n";
  return lines;
}

std::string AsPrometheus(const Aggregate& aggregate, const AggregateResult& result,
                         const AddressNamer& namer) {
  const std::string name = "lagwatch_probe_" + MetricName(aggregate.name) +
                           (aggregate.shown == Shown::kDuration ? "_nanoseconds" : "");
  std::string lines = "# TYPE " + name + (IsHistogram(aggregate.kind) ? " histogram\n" : " gauge\n");
  for (const ResultRow& row : result.rows) {
    if (!row.has_value) continue;
    lines += IsHistogram(aggregate.kind) ? PrometheusHistogram(aggregate, name, row, namer)
                                         : name + Labels(aggregate, row, namer, "") + " " +
                                               NumberText(RowNumber(aggregate, row)) + "\n";
  }
  if (result.is_at_least) lines += "# TYPE " + name + "_is_at_least gauge\n" + name + "_is_at_least 1\n";
  return lines;
}

}  // namespace lagwatch::probe
