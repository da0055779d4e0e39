<?php
// SPDX-License-Identifier: Apache-2.0
function handle()
{
    return file_get_contents(getenv("FIFO")); // FREEZE handle
}

function main()
{
    while (true) {
        $read = [STDIN];
        $write = $except = [];
        if (!stream_select($read, $write, $except, null) || !($text = fgets(STDIN))) {
            return;
        }
        if (str_contains($text, "freeze")) {
            handle();
        }
    }
}

main();
