"""Times small loops, each of one kind of work, on the port's own clock.

One file for all ports, so that all run the very same code. The first seven loops take their operands from a list
argument in every pass, as those do whose figures are published.
"""

import gc

from portbench_client import RESULT

try:
    from time import ticks_diff as difference_us
    from time import ticks_us as clock
except ImportError:  # CircuitPython
    from time import monotonic_ns as clock

    def difference_us(ended, started):
        return (ended - started) // 1000


# A port that cannot compile this refuses the whole script where it stands in it: it is compiled by itself.
MACHINE_CODE = """
@micropython.native
def native_add(given):
    for _ in range(given[0]):
        result = given[1] + given[2]
    return result

@micropython.viper
def viper_add(given) -> int:
    total = 0
    for i in range(int(given[0])):
        total = (total + i) & 0x3FFFFFFF
    return total

@micropython.viper
def viper_bytes(given) -> int:
    data = ptr8(given[1])
    total = 0
    for i in range(int(given[0])):
        total = (total + data[i & 255]) & 0x3FFFFFFF
    return total
"""


def add(given):
    for _ in range(given[0]):
        result = given[1] + given[2]
    return result


def multiply(given):
    for _ in range(given[0]):
        result = given[1] * given[2]
    return result


def divide(given):
    for _ in range(given[0]):
        result = given[1] / given[2]
    return result


def power(given):
    for _ in range(given[0]):
        result = given[1] ** given[2]
    return result


def str_join(given):
    passes, words = given
    for _ in range(passes):
        text = " ".join(words)
    return text


def str_equal(given):
    passes, one, other = given
    same = 0
    for _ in range(passes):
        if one == other:
            same += 1
    return same


def str_slice(given):
    passes, text = given
    for _ in range(passes):
        part = text[5:21]
    return part


def str_format(given):
    passes, word = given
    for i in range(passes):
        text = "%s %d" % (word, i)
    return text


def list_append(given):
    passes, values = given
    for _ in range(passes):
        filled = []
        for value in values:
            filled.append(value)
    return filled


def list_index(given):
    passes, values = given
    total = 0
    for i in range(passes):
        total += values[i & 15]
    return total


def list_slice(given):
    passes, values = given
    for _ in range(passes):
        part = values[4:12]
    return part


def list_sort(given):
    passes, values = given
    for _ in range(passes):
        in_order = list(values)
        in_order.sort()
    return in_order


def dict_set(given):
    passes, keys = given
    table = {}
    for i in range(passes):
        table[keys[i & 15]] = i
    return sum(table.values())


def dict_get(given):
    passes, keys, table = given
    total = 0
    for i in range(passes):
        total += table[keys[i & 15]]
    return total


def dict_iterate(given):
    passes, table = given
    total = 0
    for _ in range(passes):
        for _key, value in table.items():
            total += value
    return total


class Counter:
    def __init__(self):
        self.count = 0

    def add(self, step):
        self.count += step


def method_call(given):
    counter = Counter()
    for _ in range(given[0]):
        counter.add(1)
    return counter.count


def count_up(end):
    i = 0
    while i < end:
        yield i
        i += 1


def generator(given):
    for value in count_up(given[0]):
        last = value
    return last


def big_square_mod(given):
    passes, value, modulus = given
    for _ in range(passes):
        value = value * value % modulus
    return value


def loops():
    """Name, function, tenths of the passes that were asked for, and operands of each loop.

    They are made as their turn comes: what is on the heap costs time in every collection.
    """
    yield "int_add", add, 10, 12345678, 56781234
    yield "int_mul", multiply, 10, 12345678, 56781234
    yield "int_div", divide, 10, 99999991, 45481
    yield "float_add", add, 10, 12345678.1234, 56781234.5678
    yield "float_mul", multiply, 10, 12345678.1234, 56781234.5678
    yield "float_div", divide, 10, 99999991.2345, 45481.1357
    yield "power", power, 10, 1234.5678, 2.3456
    words = ["word%d" % i for i in range(16)]
    text = " ".join(words)
    yield "str_join", str_join, 2, words
    yield "str_equal", str_equal, 10, text, " ".join(words)
    yield "str_slice", str_slice, 2, text
    yield "str_format", str_format, 2, words[7]
    values = [i * 7 % 16 for i in range(16)]
    yield "list_append", list_append, 1, values
    yield "list_index", list_index, 10, values
    yield "list_slice", list_slice, 10, values
    yield "list_sort", list_sort, 1, values
    table = {word: i for i, word in enumerate(words)}
    yield "dict_set", dict_set, 10, words
    yield "dict_get", dict_get, 10, words, table
    yield "dict_iterate", dict_iterate, 1, table
    yield "method_call", method_call, 10
    yield "generator", generator, 10
    yield "big_mul", multiply, 2, 3**200, 7**110
    yield "big_square_mod", big_square_mod, 1, 3**200, 7**110
    compiled = {}
    try:
        exec(MACHINE_CODE, compiled)
    except (SyntaxError, NameError):  # MicroPython says the first of the decorators, CPython the second
        return
    yield "native_int_add", compiled["native_add"], 50, 12345678, 56781234
    yield "viper_int_add", compiled["viper_add"], 500
    yield "viper_bytes", compiled["viper_bytes"], 500, bytes(range(256))


def step_us():
    """The least that the clock was seen to move by between two looks."""
    steps = []
    while len(steps) < 20:
        started = clock()
        step = 0
        while not step:
            step = difference_us(clock(), started)
        steps.append(step)
    return min(steps)


def interpreter(passes, repeats):
    RESULT["clock_step_us"] = step_us()
    RESULT["loops"] = {}
    for name, loop, tenths, *operands in loops():
        given = [passes * tenths // 10] + operands  # noqa: RUF005 - MicroPython has no unpacking in displays
        times_us = []
        for _ in range(repeats):
            gc.collect()
            started = clock()
            answer = loop(given)
            ended = clock()
            times_us.append(difference_us(ended, started))
        RESULT["loops"][name] = {"passes": given[0], "times_us": times_us, "answer": answer}
