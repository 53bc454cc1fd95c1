"""launches.py FROM TO - rewrites CUDA's kernel launches for g++.

`f<N><<<grid, block, bytes, stream>>>(args)` becomes a call of
emulator::launch(): see emulator.h.  Everything else, line numbers too, stays.
A launch is told where it is written, so that tests see which were made.
"""
import re
import sys

CLOSING = {"(": ")", "{": "}", "[": "]"}


def end_of(text, at):
    """The index after the bracket that closes the one at `at`."""
    stack = []
    for i in range(at, len(text)):
        if text[i] in CLOSING:
            stack.append(CLOSING[text[i]])
        elif stack and text[i] == stack[-1]:
            stack.pop()
            if not stack:
                return i + 1
    raise SystemExit("a launch without an end")


def start_of_name(text, end):
    """Where `name` or `name<...>` that ends at `end` begins."""
    while text[end - 1].isspace():
        end -= 1
    at = end
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
    return re.search(r"[\w:]+$", text[:at]).start(), end


def rewrite(text, source):
    while "<<<" in text:
        left = text.index("<<<")
        right = text.index(">>>", left)
        start, end = start_of_name(text, left)
        open_args = text.index("(", right)
        close = end_of(text, open_args)
        name, config = text[start:end], text[left + 3:right]
        args = text[open_args + 1:close - 1]
        site = "%s:%d %s" % (source, text[:start].count("\n") + 1,
                             " ".join(name.split()))
        call = ('emulator::launch("%s", %s, [](auto... a) { %s(a...); }, %s)' %
                (site, config, name, args))
        # The compiler names lines of the file that people read.
        call += "\n" * (text[start:close].count("\n") - call.count("\n"))
        text = text[:start] + call + text[close:]
    return text


def main():
    source, target = sys.argv[1:]
    with open(source) as f:
        text = rewrite(f.read(), source)
    with open(target, "w") as f:
        f.write('#line 1 "%s"\n%s' % (source, text))


main()
