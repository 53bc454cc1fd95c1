"""Cases of kernels/io/file_configuration.c."""
from tests.conformance.table import bad, row

row("FileSystemSetConfiguration", [
    bad(b"", b"key", b"value"), bad(b"file", b"key", b"value"), bad(b"nosuch", b"key", b"value"),
    bad([b"file"], b"key", b"value"), bad(b"file", [b"key"], b"value"),
    bad(b"file", b"key", [b"value"]), bad([[b"file"]], b"key", [b"value"])])
