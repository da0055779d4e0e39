#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py finds what it is there to find, in small trees made for it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/check_layers.py"


def check(files):
    """Runs the script over a tree of {path: content}."""
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, "--root", root], capture_output=True, encoding="utf-8")


class CheckLayersTest(unittest.TestCase):
    def assert_keeps(self, path, line):
        result = check({path: line + "\n"})
        self.assertEqual(result.returncode, 0, f"{path}: {line}\n{result.stdout}{result.stderr}")

    def assert_breaks(self, path, line, saying):
        result = check({path: "// comment\n" + line + "\n"})
        self.assertEqual(result.returncode, 1, f"{path}: {line}\n{result.stdout}{result.stderr}")
        self.assertTrue(result.stdout.startswith(f"{path}:2: "), result.stdout)
        self.assertIn(saying, result.stdout)

    def test_layers_may_include_what_lies_below(self):
        self.assert_keeps("base/process/env.h", '#include "base/status.h"')
        self.assert_keeps("watchdog/watchdog.h", '#include "stack/frames/stack.h"')
        self.assert_keeps("report/spool/spool_reader.cc", '#include "report/format/fields.h"')
        self.assert_keeps("sdk/monitor.cc", "#include <lagwatch/c.h>")
        self.assert_keeps("tools/main.cc", '#include "collector/query/query_api.h"')

    def test_layers_may_not_include_what_lies_above_or_beside(self):
        self.assert_breaks("base/process/env.h", '#include "policies/upload/upload_backoff.h"', "base may not include")
        self.assert_breaks("policies/upload/upload_backoff.h", '  #  include "stack/frames/stack.h"', "may include base")
        self.assert_breaks("watchdog/watchdog.h", '#include "report/format/report.h"', "watchdog may not")
        self.assert_breaks("report/format/report.h", '#include "report/spool/spool_reader.h"', "may not")
        self.assert_breaks("report/upload/uploader.cc", '#include "watchdog/events/hang_sink.h"', "upload may not")
        self.assert_breaks("collector/main.cc", '#include "report/spool/spool_reader.h"', "collector may not")
        self.assert_breaks("tools/main.cc", '#include "collector/http/server/router.h"', "tools may not")
        self.assert_breaks("tools/main.cc", '#include "watchdog/watchdog.h"', "tools may not")

    def test_a_layer_inside_another_one_is_a_layer_of_its_own(self):
        self.assert_keeps("stack/capturer.cc", '#include "stack/signal/handler.h"')
        self.assert_breaks("sdk/monitor.cc", '#include "sdk/jvm/agent.h"', "sdk may not")
        self.assert_breaks("trace/record/sampler.cc", '#include "trace/export/perfetto.h"', "trace may not")

    def test_signal_code_sees_less_than_the_folder_around_it(self):
        self.assert_keeps("stack/signal/signal_handler.h", '#include "stack/frames/raw_stack.h"')
        self.assert_breaks("stack/signal/context.h", '#include "stack/frames/stack.h"', "stack/signal may not")

    def test_names_begin_at_the_root(self):
        self.assert_breaks("sdk/monitor.cc", '#include "monitor.h"', "sdk may not include monitor.h")
        self.assert_breaks("sdk/monitor.cc", '#include "../base/process/env.h"', "sdk may not include ../base/process/env.h")

    def test_public_headers_include_public_headers_only(self):
        self.assert_keeps("sdk/include/lagwatch/lagwatch.h", "#include <lagwatch/c.h>")
        self.assert_breaks("sdk/include/lagwatch/lagwatch.h", '#include "c.h"', "<lagwatch/")
        self.assert_breaks("sdk/include/lagwatch/lagwatch.h", '#include "base/status.h"', "<lagwatch/")
        self.assert_breaks("sdk/include/lagwatch/c.h", "#include <nlohmann/json.hpp>", "only collector/keys, collector/query")
        self.assert_breaks("base/process/env.h", "#include <lagwatch/c.h>", "base may not")

    def test_samples_see_the_installed_package_only(self):
        self.assert_keeps("samples/editor/main.cc", '#include "editor.h"')
        self.assert_keeps("samples/editor/main.cc", "#include <lagwatch/lagwatch.h>")
        self.assert_breaks("samples/editor/main.cc", '#include "base/process/env.h"', "a sample may")
        self.assert_breaks("samples/editor/main.cc", '#include "../server/server.h"', "a sample may")

    def test_bindings_see_the_installed_package_only(self):
        self.assert_keeps("sdk/apple/LWDispatches.h", '#include "LWRunLoopRules.h"')
        self.assert_keeps("sdk/apple/LWDispatches.h", "#include <lagwatch/c.h>")
        self.assert_breaks("sdk/apple/LWDispatches.h", '#include "base/process/env.h"', "a binding may")

    def test_folders_include_each_other_in_one_direction(self):
        tree = {
            "trace/model/times.h": "",
            "trace/record/sampler.h": '#include "trace/hooks/capture.h"\n',
            "trace/hooks/capture.h": '#include "trace/calls/calls.h"\n',
            "trace/calls/calls.h": '#include "trace/model/times.h"\n',
            "trace/export/text.h": '#include "trace/model/times.h"\n',
        }
        self.assertEqual(check(tree).returncode, 0)
        result = check(tree | {"trace/calls/calls.h": '#include "trace/record/sampler.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn("trace/record and trace/hooks include each other", result.stdout)
        self.assertIn("trace/calls and trace/record include each other", result.stdout)
        self.assertNotIn("trace/export", result.stdout)

    def test_areas_include_each_other_in_one_direction(self):
        tree = {
            "collector/query/json/text.h": "",
            "collector/query/api.h": '#include "collector/store/rows/row.h"\n',
            "collector/store/rows/row.h": "",
        }
        self.assertEqual(check(tree).returncode, 0)
        # No folder of these is in a circle.
        result = check(tree | {"collector/store/sqlite/reader.h": '#include "collector/query/json/text.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn("collector/store/sqlite/reader.h:1: collector/store and collector/query include", result.stdout)
        self.assertIn("collector/query/api.h:1: collector/query and collector/store include", result.stdout)

    def test_files_include_each_other_in_one_direction(self):
        tree = {
            "base/a.h": "",
            "base/a.cc": '#include "base/a.h"\n#include "base/b.h"\n',
            "base/b.h": "",
            "base/b.cc": '#include "base/b.h"\n',
        }
        self.assertEqual(check(tree).returncode, 0)
        result = check(tree | {"base/b.cc": '#include "base/b.h"\n#include "base/c.h"\n',
                               "base/c.h": '#include "base/a.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertEqual([line.split(" include")[0] for line in result.stdout.splitlines()],
                         ["base/a.cc:1: base/a and base/b", "base/b.cc:1: base/b and base/c", "base/c.h:1: base/c and base/a"])

    def test_folders_hold_a_number_of_files_that_can_be_read(self):
        self.assertEqual(check({f"base/file{i}.h": "" for i in range(30)}).returncode, 0)
        result = check({f"base/file{i}.h": "" for i in range(31)})
        self.assertEqual(result.returncode, 1)
        self.assertIn("base: 31 source files", result.stdout)

    def test_libraries_have_owners(self):
        self.assert_keeps("collector/http/server/http_server.cc", "#include <boost/asio/io_context.hpp>")
        self.assert_keeps("base/process/env_linux.cc", "#include <sys/stat.h>")
        self.assert_breaks("collector/main.cc", "#include <boost/asio/io_context.hpp>", "only collector/http")
        self.assert_breaks("stack/code/unwinder.h", "#include <libunwind.h>", "only bench, tests")
        self.assert_breaks("base/process/env.h", "#include <zlib.h>", "only base/gzip, collector/ingest, report/seal")
        self.assert_breaks("base/process/env.h", "#include <fmt/format.h>", "no known library")

    def test_files_belong_to_a_layer(self):
        result = check({"report/orphan.h": ""})
        self.assertEqual(result.returncode, 1)
        self.assertIn("report/orphan.h:1: belongs to no layer", result.stdout)

    def test_a_source_begins_with_its_header(self):
        header = {"base/process/env.h": ""}
        self.assertEqual(check({**header, "base/process/env.cc": '#include "base/process/env.h"\n#include "base/uuid.h"\n'}).returncode, 0)
        result = check({**header, "base/process/env.cc": '#include <string>\n#include "base/process/env.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn('base/process/env.cc:1: its own header comes first: #include "base/process/env.h"', result.stdout)

    def test_systems_are_told_apart_by_file_names(self):
        for condition in ("#ifdef __linux__", "#if defined(__x86_64__)", "#  elif defined(__aarch64__) && 1",
                          "#ifndef _WIN32"):
            self.assert_breaks("base/process/env.cc", condition, "asks for ")
            self.assert_keeps("base/process/env_linux.cc", condition)
            self.assert_keeps("base/ticks.h", condition)
        self.assert_keeps("base/process/env.cc", "#ifdef __cplusplus")
        self.assert_keeps("base/process/env.cc", "// #ifdef __linux__")

    def test_the_process_is_handed_down(self):
        for line in ("  base::WatchFromOutside(pid);", "constinit base::Process g_watched;",
                     "static thread_local base::Thread t_thread;"):
            self.assert_breaks("watchdog/watchdog.cc", line, "a base::Process (base/process/process.h) is handed down")
        self.assert_keeps("watchdog/watchdog.cc", "  base::Process process_;")
        self.assert_keeps("base/process/process.h", "  static constexpr Process Own() { return Process(); }")

    def test_every_violation_is_listed(self):
        result = check({"base/a.h": '#include "sdk/b.h"\n\n#include "tools/c.h"\n',
                        "sdk/b.h": '#include "tools/c.h"\n'})
        places = [line.split(": ")[0] for line in result.stdout.splitlines()]
        self.assertEqual(places, ["base/a.h:1", "base/a.h:3", "sdk/b.h:1"])

    def test_a_tree_without_sources_is_a_mistake(self):
        result = check({"README.md": ""})
        self.assertEqual(result.returncode, 2)
        self.assertIn("--root", result.stderr)


if __name__ == "__main__":
    unittest.main()
