# SPDX-License-Identifier: Apache-2.0
"""Python stacks of random shapes. `stops N SEED`: N times, prints the stack that Python itself sees, one line
"NAME (FILE):LINE|…", and waits for a line of input. `churn`: compiles, runs and drops functions for ever."""
import asyncio
import contextlib
import functools
import os
import random
import sys


def stop():
    frame = sys._getframe(1)
    frames = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append(f"{name} ({os.path.basename(code.co_filename)}):{frame.f_lineno}")
        frame = frame.f_back
    print("|".join(frames))
    sys.stdout.flush()


class Node:
    def method(self, depth):
        return grow(depth)

    @property
    def value(self):
        return grow(self.depth)

    @classmethod
    def of_class(cls, depth):
        return grow(depth)

    def __lt__(self, other):
        grow(self.depth)
        return True

    def __enter__(self):
        grow(self.depth)

    def __exit__(self, *_):
        pass


def node(depth):
    made = Node()
    made.depth = depth
    return made


def by_generator(depth):
    def numbers():
        yield 1
        yield grow(depth)
    for _ in numbers():
        pass


def by_yield_from(depth):
    def inner():
        yield grow(depth)

    def outer():
        yield from inner()
    return list(outer())


def by_coroutine(depth):
    async def inner():
        return grow(depth)

    async def outer():
        return await inner()
    with contextlib.suppress(StopIteration):
        outer().send(None)


def by_except(depth):
    try:
        raise ValueError
    except ValueError:
        (
            grow(
                depth
            )
        )


WAYS = [
    lambda depth: node(depth).method(depth),
    lambda depth: node(depth).value,
    lambda depth: Node.of_class(depth),
    lambda depth: sorted([node(depth), node(depth)]),
    lambda depth: list(map(grow, [depth])),
    lambda depth: [grow(depth) for _ in range(1)],
    lambda depth: functools.reduce(lambda a, b: grow(depth), [1, 2]),
    lambda depth: functools.partial(grow, depth)(),
    lambda depth: eval("grow(depth)", {"grow": grow, "depth": depth}),
    lambda depth: exec("\n\ngrow(depth)", {"grow": grow, "depth": depth}),
    by_generator, by_yield_from, by_coroutine, by_except,
    lambda depth: max([1, 2], key=lambda value: grow(depth) or value),
]


def grow(depth):
    if depth == 0:
        stop(); os.read(0, 1)
        return 0
    with contextlib.ExitStack() as stack:
        if depth % 7 == 3:
            stack.enter_context(contextlib.nullcontext())
        random.choice(WAYS)(depth - 1)
    return 0


def churn(rounds):
    for _ in range(rounds):
        name = "f%d" % random.randrange(1000)
        text = f"def {name}(n):\n" + "\n" * random.randrange(50) + f"    return {name}(n - 1) if n else 0\n"
        scope = {}
        exec(compile(text, name + ".py", "exec"), scope)
        scope[name](random.randrange(20))


async def work(depth):
    churn(20)
    if depth != 0:
        await make(depth - 1)


def make(depth):
    task = asyncio.ensure_future(work(depth))
    if random.randrange(2) == 0:
        task.set_name("task %d" % random.randrange(1000))
    return task


async def churn_tasks():
    """Tasks that wait for each other, and that end at once."""
    while True:
        await make(random.randrange(6))


if sys.argv[1] == "stops":
    random.seed(int(sys.argv[3]))
    for _ in range(int(sys.argv[2])):
        grow(random.randrange(12))
else:
    print("churning", flush=True)
    asyncio.run(churn_tasks())
