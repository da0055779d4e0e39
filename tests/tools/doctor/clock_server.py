#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers as a collector whose clock is wrong, and as a server that is no collector: clock_server.py SECONDS|other

Prints its port. SECONDS are added to the time."""
import http.server
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<html></html>" if sys.argv[1] == "other" else b'{"name": "first", "access": "project"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + (0 if sys.argv[1] == "other" else int(sys.argv[1])))

    def log_message(self, *arguments):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
