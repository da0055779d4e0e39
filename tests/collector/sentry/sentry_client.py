#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program with Sentry's own SDK: reports two hangs and one error to the DSN that is its argument."""

import sys

import sentry_sdk
from sentry_sdk.utils import current_stacktrace


def freeze():
    return {"level": "error",
            "exception": {"values": [{
                "type": "App Hanging", "value": "App hanging for at least 2000 ms.",
                "mechanism": {"type": "AppHang", "handled": True},
                "stacktrace": current_stacktrace(with_locals=False)}]}}


sentry_sdk.init(sys.argv[1], release="editor@2.3.1", auto_session_tracking=False)
sentry_sdk.set_user({"id": "u-71"})
sentry_sdk.capture_event(freeze())
with sentry_sdk.push_scope() as scope:
    scope.add_attachment(bytes=b"what else was the case", filename="notes.txt")
    sentry_sdk.capture_event(freeze())
sentry_sdk.capture_message("nothing hung")
sentry_sdk.flush(timeout=20)
