"""A process on a terminal of its own, and what its screen then shows."""
import os
import pty
import re
import subprocess
import termios

from tests.cluster.runner import WITH_PARENT

SEQUENCE = re.compile(rb"\x1b\[(\?7[hl]|\d*[A-Z])|([\r\n])|([^\r\n\x1b]+)")


class Terminal:
    """Starts a command; read() until it ends, or until a text has come."""

    def __init__(self, command, **environment):
        master, slave = pty.openpty()
        # Lines end as the process writes them.
        mode = termios.tcgetattr(slave)
        mode[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        self.process = subprocess.Popen(
            WITH_PARENT + command, stdin=subprocess.DEVNULL, stdout=slave,
            stderr=slave,
            env=dict(os.environ, TERM="xterm", **environment))
        os.close(slave)
        self.master, self.bytes = master, b""

    def read(self, until=None):
        while until is None or until not in self.bytes:
            try:
                more = os.read(self.master, 4096)
            except OSError:  # the other end is closed
                more = b""
            if not more:
                break
            self.bytes += more
        return self.bytes

    def exit_code(self):
        self.read()
        return self.process.wait()


def screen(data):
    """The lines a terminal shows after these bytes.  Refuses all sequences
    but: up, erase the rest of the line, wrap on and off."""
    lines, row, column, at = [b""], 0, 0, 0
    while at < len(data):
        found = SEQUENCE.match(data, at)
        assert found, "a sequence that nobody expects: %r" % data[at:at + 20]
        control, end, text = found.groups()
        at = found.end()
        if text:
            old = lines[row]
            lines[row] = old[:column] + text + old[column + len(text):]
            column += len(text)
        elif end == b"\r":
            column = 0
        elif end == b"\n":
            row += 1
            lines += [b""] * (row + 1 - len(lines))
        elif control == b"K":
            lines[row] = lines[row][:column]
        elif control.endswith(b"A"):
            assert int(control[:-1]) <= row, "above the first line"
            row -= int(control[:-1])
        else:
            assert control in (b"?7h", b"?7l"), control
    return [line.decode() for line in lines]
