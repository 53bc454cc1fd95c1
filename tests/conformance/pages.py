"""What docs/ops.md says of this table is so."""
import pathlib

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "ops.md"


def checked_ops():
    """The ops that the page calls checked."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {row[0] for row in rows if row[-1] == "yes"}


def run(covered):
    """(passed, failures): each op that it calls checked has a case here.
    covered: names of ops that have one."""
    names = checked_ops()
    missing = ["docs/ops.md calls %s checked: a row of the table, or a line of "
               "tools/unchecked_ops" % name
               for name in sorted(names - covered)]
    return len(names) - len(missing), missing
