<?php
// SPDX-License-Identifier: Apache-2.0
// PHP stacks of random shapes. `stops N SEED`: N times, prints the stack that PHP itself sees, one line "NAME (FILE):LINE|…",
// and waits for a line of input. `churn`: compiles, calls and drops functions for ever.
function stop()
{
    $frames = debug_backtrace();
    $shown = [];
    foreach ($frames as $i => $frame) {
        if (!isset($frame['line'])) {
            continue; // called by a function in C
        }
        $caller = $frames[$i + 1] ?? ['function' => 'include'];
        $name = (isset($caller['class']) ? $caller['class'] . '::' : '') . $caller['function'];
        $name = in_array($name, ['include', 'eval']) ? 'main script' : $name;
        $shown[] = $name . ' (' . basename($frame['file']) . '):' . $frame['line'];
    }
    echo implode('|', $shown), "\n";
}

trait Shown
{
    public function __toString(): string
    {
        grow($this->depth);
        return 'node';
    }
}

class Node implements IteratorAggregate
{
    use Shown;

    public function __construct(public int $depth)
    {
    }

    public function plain($depth)
    {
        grow($depth);
    }

    public static function ofClass($depth)
    {
        grow($depth);
    }

    public function __get($name)
    {
        return grow($this->depth);
    }

    public function __call($name, $arguments)
    {
        return grow($arguments[0]);
    }

    public function __invoke($depth)
    {
        return grow($depth);
    }

    public function getIterator(): Iterator
    {
        yield 1;
        yield from $this->more();
    }

    private function more()
    {
        grow($this->depth);
        yield 2;
    }
}

class Leaf extends Node
{
}

$ways = [
    fn ($depth) => (new Leaf($depth))->plain($depth),
    fn ($depth) => Leaf::ofClass($depth),
    fn ($depth) => (new Node($depth))->unknown($depth),
    fn ($depth) => (new Node($depth))->member,
    fn ($depth) => (new Node($depth))($depth),
    fn ($depth) => (string)new Leaf($depth),
    function ($depth) {
        foreach (new Node($depth) as $value) {
        }
    },
    fn ($depth) => array_map(fn ($value) => grow($value), [$depth]),
    function ($depth) {
        $values = [2, 1];
        usort($values, function ($a, $b) use ($depth) {
            grow($depth);
            return $a <=> $b;
        });
    },
    fn ($depth) => call_user_func('grow', $depth),
    fn ($depth) => call_user_func([new Node($depth), 'plain'], $depth),
    fn ($depth) => preg_replace_callback('/x/', fn () => (string)grow($depth), 'x'),
    fn ($depth) => eval("\n\nreturn grow($depth);"),
    function ($depth) {
        try {
            throw new Exception('an error');
        } catch (Exception) {
            grow($depth);
        } finally {
            strlen('x');
        }
    },
    function ($depth) {
        grow(
            $depth
        );
    },
];

function grow($depth)
{
    global $ways;
    if ($depth == 0) {
        stop(); fgets(STDIN);
        return 0;
    }
    $ways[mt_rand(0, count($ways) - 1)]($depth - 1);
    return 0;
}

function churn()
{
    while (true) {
        $lines = str_repeat("\n", mt_rand(0, 50));
        $made = eval("$lines return new class {\n public function f(\$n) { return \$n == 0 ? 0 : array_sum(array_map(\$this->f(...), [\$n - 1])); }\n};");
        $made->f(mt_rand(0, 20));
        unset($made);
        $function = eval("$lines return fn (\$f, \$n) => \$n == 0 ? 0 : array_sum(array_map(fn (\$m) => \$f(\$f, \$m), [\$n - 1]));");
        $function($function, mt_rand(0, 20));
        unset($function);
    }
}

mt_srand((int)($argv[3] ?? 1));
if ($argv[1] == 'stops') {
    for ($i = 0; $i < (int)$argv[2]; $i++) {
        grow(mt_rand(0, 11));
    }
} else {
    echo "churning\n";
    churn();
}
