<?php
// SPDX-License-Identifier: Apache-2.0
// A loop that freezes once, as loop.c does: loop.php POLL DISPATCH KIND. An event is a byte of standard input.
const FREEZE_S = 0.9;
[, $poll, $dispatch, $kind] = $argv;

// A process that has the lock, and answers late.
function start_helper($path)
{
    $helper = popen("exec flock $path sh -c 'echo x; sleep " . FREEZE_S . "; echo y'", "r");
    stream_set_read_buffer($helper, 0);
    fread($helper, 2);
    return $helper;
}

function freeze_here($kind)
{
    $path = getenv("TMPDIR") . "/held";
    if ($kind === "cpu") {
        for ($end = microtime(true) + FREEZE_S; microtime(true) < $end;);
    } elseif ($kind === "sleep") {
        sleep(1);
    } elseif ($kind === "usleep") {
        usleep(FREEZE_S * 1000000);
    } elseif ($kind === "child") {
        system("exec sleep " . FREEZE_S);
    } elseif ($kind === "output") {
        shell_exec("sleep " . FREEZE_S . "; echo late");
    } else {
        $helper = start_helper($path);
        if ($kind === "flock") {
            flock(fopen($path, "w"), LOCK_EX);
        } elseif ($kind === "read") {
            fread($helper, 2);
        } elseif ($kind === "answer-by-select") {
            $read = [$helper];
            $write = $except = null;
            stream_select($read, $write, $except, 20);
        } else {
            exit(2);
        }
    }
}

stream_set_read_buffer(STDIN, 0);
$sources = [STDIN];
$pairs = [];
for ($i = 0; $i < 3 && str_contains($poll, "many"); $i++) {
    $pairs[] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $sources[] = $pairs[$i][0];
}
for ($turn = 1; $turn <= $dispatch + 5; $turn++) {
    $read = $sources;
    $write = $except = null;
    stream_select($read, $write, $except, null);
    fread(STDIN, 1);
    if ($turn === (int)$dispatch) {
        freeze_here($kind);
    }
}
echo "good\n";
