<?php
// SPDX-License-Identifier: Apache-2.0
// Freezes its loop in the way that the argument names, and prints the stack that PHP itself sees there.
const SECONDS = 0.6;

// Prints "NAME (FILE):LINE" of each caller that is written in PHP, innermost first. Called on the line that then freezes.
// `$ahead`: the line that freezes is so many lines further on.
function tell($ahead = 0)
{
    $frames = debug_backtrace();
    $frames[0]['line'] += $ahead;
    foreach ($frames as $i => $frame) {
        if (!isset($frame['line'])) {
            continue; // called by a function in C
        }
        $caller = $frames[$i + 1] ?? ['function' => 'include'];
        $name = (isset($caller['class']) ? $caller['class'] . '::' : '') . $caller['function'];
        $name = in_array($name, ['include', 'eval']) ? 'main script' : $name;
        echo $name, ' (', basename($frame['file']), '):', $frame['line'], "\n";
    }
}

class Base
{
    public function spin()
    {
        $end = microtime(true) + SECONDS;
        tell(); while (microtime(true) < $end) {}
    }
}

class Handler extends Base
{
    // Calls no function: only a register has the line.
    public function count()
    {
        $sum = 0;
        tell(1);
        for ($i = 0; $i < 60000000; $i++) { $sum += $i & 3; }
    }

    public function numbers()
    {
        yield 1;
        tell(); usleep((int)(SECONDS * 1e6));
        yield 2;
    }

    public function generator()
    {
        array_map(function ($one) { foreach ($this->numbers() as $number) {} }, [1]);
    }

    public function evaluated()
    {
        eval("\n\n\$this->spin();");
    }
}

function main($method)
{
    [$reader, $writer] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    for ($turn = 0; $turn < 6; $turn++) {
        $read = [$reader];
        $write = $except = [];
        stream_select($read, $write, $except, 0, 50000);
        if ($turn == 3) {
            (new Handler())->$method();
        }
    }
}

main($argv[1]);
