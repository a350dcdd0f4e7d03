"""What means something in each kind of file, to be put where it does not belong."""

TEXT_TOKENS = (
    b",", b'"', b"\n", b"\r", b"\r\n", b"\t", b";", b"|", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00",
    b"\x1b[2J", b"\xc2\x9b", b"\xed\xa0\x80", b"label", b"cat", b"NaN", b"1e999", b"-0",
    b"9" * 400, b"=1+1", b"[", b"{", b"!", b":0.5", b"truth", b"chosen_label", b"0x1p3", b"1_0",
    "\u0661".encode(), b"inf", b"1970-01-01",
)  # fmt: skip
JSON_TOKENS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"NaN", b"Infinity", b"1e999",
    b"9" * 5000, b"-1", b'"\\ud800"', b"\\u0000", b'""', b'{"a":' * 40, b"[" * 40, b"\n",
    b'"label"', b'"version"',
)  # fmt: skip
TOML_TOKENS = (
    b"[[", b"]]", b"=", b'"', b"\n", b"a.b.c", b"'", b'"""', b"folds = 0", b"-1", b"1e400", b"inf",
    b"99999999999", b"plknn", b"ncpd", b"os:system", b"name", b"path", b"[[datasets]]", b"{",
    b"/etc/passwd", b"../", b"\x1b", b"\\u001b]0;x", b"kfold", b"holdout", b"true", b"1979-05-27",
    b"sure", b"average",
)  # fmt: skip
NPY_TOKENS = (
    b"<f8", b"|O", b"<U9", b"<U999999999", b"(12, 2)", b"(999999999, 9)", b"True", b"|b1", b">i4",
    b"|V8",
)  # fmt: skip
PARQUET_TOKENS = (b"PAR1", b"PARE", b"pandas", b"\x15", b"\x19", b"\x1c", b"label")
XML_TOKENS = (
    b"<row", b"<c ", b't="s"', b't="e"', b't="d"', b"<f>1+1</f>", b"&amp;", b"&x;", b"<!DOCTYPE",
    b"XFD1048576", b'r="A1"', b"</", b"<v>", b"1e999", b"99999999999",
)  # fmt: skip
