<?php
// SPDX-License-Identifier: Apache-2.0
// php freezing.php FLAG: see freezing.c.
function freeze_sleep() { usleep(1500000); }

function freeze_compute()
{
    $end = microtime(true) + 1.5;
    while (microtime(true) < $end);
}

function freeze_child() { shell_exec('sleep 1.5'); }

function run($flag)
{
    $pair = stream_socket_pair(1, 1, 0);
    while (true) {
        $read = [$pair[0]];
        $write = $except = null;
        stream_select($read, $write, $except, 0, 50000);
        clearstatcache();
        if (!file_exists($flag)) continue;
        $way = 'freeze_' . trim(file_get_contents($flag));
        $way();
        unlink($flag);
    }
}

run($argv[1]);
