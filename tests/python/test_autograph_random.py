"""Random programs of branches, loops, breaks and returns give the same traced as Python gives."""
import random

import numpy as np
import pytest
import tandemflow as tf

VARIABLES = ["a", "b", "c", "d"]


class Writer:
    """Writes a function of four integers that always ends."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0

    def value(self):
        kind = self.random.randrange(4)
        name = self.random.choice(VARIABLES)
        if kind == 0:
            return str(self.random.randrange(-3, 7))
        if kind == 1:
            return name
        return f"({name} {self.random.choice('+-*')} {self.random.choice([*VARIABLES, '2', '3'])}) % 11"

    def test(self, depth=0):
        kind = self.random.randrange(6 if depth < 2 else 3)
        if kind < 3:
            return f"{self.random.choice(VARIABLES)} {self.random.choice(['<', '>', '==', '!=', '<=', '>='])} {self.value()}"
        if kind == 3:
            return f"not ({self.test(depth + 1)})"
        if kind == 4:
            return f"{self.random.randrange(-2, 3)} < {self.random.choice(VARIABLES)} < {self.value()}"
        return f"({self.test(depth + 1)}) {self.random.choice(['and', 'or'])} ({self.test(depth + 1)})"

    def block(self, depth, in_loop):
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, in_loop)]
        return lines

    def statement(self, depth, in_loop):
        kind = self.random.randrange(12)
        if depth >= 3 or kind < 4:
            if kind == 1:
                return [f"{self.random.choice(VARIABLES)} += {self.value()}"]
            if kind == 2:
                x, y = self.random.sample(VARIABLES, 2)
                return [f"{x}, {y} = {y}, {self.value()}"]
            if kind == 3:
                return [f"{self.random.choice(VARIABLES)} = {self.value()} if {self.test()} else {self.value()}"]
            return [f"{self.random.choice(VARIABLES)} = {self.value()}"]
        if kind < 7:
            lines = [f"if {self.test()}:", *self.indented(depth, in_loop)]
            if self.random.random() < 0.3:
                lines += [f"elif {self.test()}:", *self.indented(depth, in_loop)]
            if self.random.random() < 0.6:
                lines += ["else:", *self.indented(depth, in_loop)]
            return lines
        if kind < 9:
            return self.loop(depth)
        if kind == 9:
            return [f"if {self.test()}:", f"    return {self.value()}"]
        if in_loop:
            return [f"if {self.test()}:", f"    {'break' if kind == 10 else 'continue'}"]
        return [f"{self.random.choice(VARIABLES)} -= 1"]

    def loop(self, depth):
        self.loops += 1
        name = f"n{self.loops}"
        kind = self.random.randrange(4)
        if kind == 0:
            head = [f"for {name} in tf.range(({self.random.choice(VARIABLES)} % 4) + 1):"]
        elif kind == 1:
            head = [f"for {name} in range({self.random.randint(1, 3)}):"]
        elif kind == 2:
            head = [f"for {name} in tf.constant([3, 1, 2]):"]
        else:
            head = [f"{name} = a * 0", f"while {name} < 4 and ({self.test()}):", f"    {name} += 1"]
        lines = head + self.indented(depth, True)
        if self.random.random() < 0.2:
            lines += ["else:", *self.indented(depth, False)]
        if self.random.random() < 0.5:
            lines.insert(len(head), f"    {self.random.choice(VARIABLES)} = ({self.random.choice(VARIABLES)} + {name}) % 13")
        return lines

    def indented(self, depth, in_loop):
        return ["    " + line for line in self.block(depth + 1, in_loop)]

    def function(self):
        body = [line for _ in range(4) for line in self.statement(0, False)]
        return "\n".join(["def program(a, b, c, d):", *("    " + line for line in body), "    return a * 1000 + b * 100 + c * 10 + d", ""])


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program(seed, tmp_path):
    source = Writer(seed).function()
    path = tmp_path / "program.py"
    path.write_text(source)
    namespace = {"tf": tf}
    exec(compile(source, path, "exec"), namespace)
    program = namespace["program"]
    traced = tf.function(program)
    for values in np.random.default_rng(seed).integers(-3, 7, (3, 4)):
        arguments = [tf.constant(int(value)) for value in values]
        wanted = int(program(*arguments))
        assert int(traced(*arguments)) == wanted, source
    assert traced.experimental_get_tracing_count() == 1
