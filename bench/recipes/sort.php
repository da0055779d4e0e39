<?php
// SPDX-License-Identifier: Apache-2.0
function handle()
{
    $values = range(0, 2000);
    usort($values, function ($a, $b) {
        usleep(50); // FREEZE {closure}
        return $a <=> $b;
    });
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
