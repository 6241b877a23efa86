"""ARFF files to compare readers with: broken ones, and generated ones that each have one trait of the format."""

import random
from collections.abc import Callable, Iterator

PER_TRAIT = 40
HEADER = """@relation 'small: -C -2'
@attribute size numeric
@attribute colour {red,green,'dark blue'}
@attribute p {0,1}
@attribute q {0,1}
@data
"""
GOOD = HEADER + "1.5,red,0,1\n2,green,1,0\n3,'dark blue',1,1\n"
SPARSE = HEADER + "{0 1.5,3 1}\n{1 green,2 1}\n{}\n"


def _changed(old: str, new: str, text: str = GOOD) -> bytes:
    assert old in text
    return text.replace(old, new, 1).encode()


BROKEN: dict[str, bytes] = {
    "a value too many": _changed("2,green,1,0", "2,green,1,0,1"),
    "a value too few": _changed("2,green,1,0", "2,green,1"),
    "an empty value": _changed("2,green", ",green"),
    "a word for a number": _changed("2,green", "two,green"),
    "a number that Python alone writes": _changed("2,green", "1_0,green"),
    "nan for a missing value": _changed("2,green", "nan,green"),
    "an unknown category": _changed("2,green", "2,grey"),
    "an open quote": _changed("'dark blue',1,1", "'dark blue,1,1"),
    "text after a quote": _changed("'dark blue',1,1", "'dark blue's,1,1"),
    "a type that nobody knows": _changed("size numeric", "size number"),
    "a name twice": _changed("colour", "size"),
    "a category twice": _changed("{0,1}", "{0,1,0}"),
    "an open brace": _changed("{0,1}", "{0,1"),
    "no @data": _changed("@data\n", ""),
    "no row": HEADER.encode(),
    "no attribute": b"@relation x\n@data\n1\n",
    "an empty file": b"",
    "an index out of range": _changed("{1 green,2 1}", "{1 green,9 1}", SPARSE),
    "an index twice": _changed("{1 green,2 1}", "{1 green,1 red}", SPARSE),
    "a negative index": _changed("{1 green,2 1}", "{-1 1}", SPARSE),
    "an open sparse row": _changed("{1 green,2 1}", "{1 green,2 1", SPARSE),
    "sparse and dense rows": _changed("2,green,1,0", "{1 green}"),
    "another encoding": GOOD.replace("red", "röt").encode("latin-1"),
    "zero bytes": GOOD.encode("utf-16-le"),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(20),
}


def _rows(draw: random.Random, write: Callable[[list[str]], str] = ",".join) -> str:
    rows = []
    for _ in range(draw.randint(1, 5)):
        number = draw.choice(["0", "-1.5", "3e-2", ".5", "+7", "12345.678", "1E5"])
        colour = draw.choice(["red", "green", "'dark blue'"])
        rows.append(write([number, colour, draw.choice("01"), draw.choice("01")]))
    return "\n".join(rows) + "\n"


def _sparse(values: list[str]) -> str:
    return "{" + ",".join(f"{at} {value}" for at, value in enumerate(values) if value not in ("0", "red")) + "}"


def _spaced(values: list[str]) -> str:
    return " , ".join(values) + "  "


def _tabbed(values: list[str]) -> str:
    return ",\t".join(values)


def _double(values: list[str]) -> str:
    return ",".join(value.replace("'", '"') for value in values)


def _missing(values: list[str]) -> str:
    return ",".join(["?", *values[1:]])


def _missing_category(values: list[str]) -> str:
    return ",".join([values[0], "?", *values[2:]])


def _sparse_missing(values: list[str]) -> str:
    return _sparse(["?", *values[1:]])


def _end_comment(values: list[str]) -> str:
    return ",".join(values) + " % as measured"


def _with_attribute(declared: str, *written: str) -> Callable[[random.Random], str]:
    """Files with one attribute more, at the front."""
    header = HEADER.replace("@attribute size", f"@attribute {declared}\n@attribute size")
    return lambda draw: header + _rows(draw, lambda values: ",".join([draw.choice(written), *values]))


def _with_header(old: str, new: str) -> Callable[[random.Random], str]:
    return lambda draw: HEADER.replace(old, new) + _rows(draw)


def _with_rows(write: Callable[[list[str]], str]) -> Callable[[random.Random], str]:
    return lambda draw: HEADER + _rows(draw, write)


TRAITS: dict[str, Callable[[random.Random], str]] = {
    "plain": _with_rows(",".join),
    "sparse rows": _with_rows(_sparse),
    "sparse rows with a missing value": _with_rows(_sparse_missing),
    "spaces around commas": _with_rows(_spaced),
    "tabs": _with_rows(_tabbed),
    "double quotes": _with_rows(_double),
    "a missing number": _with_rows(_missing),
    "a missing category": _with_rows(_missing_category),
    "a comment after a row": _with_rows(_end_comment),
    "comments and empty lines among rows": lambda draw: HEADER + "% a comment\n\n" + _rows(draw) + "\n% end\n",
    "keywords in capitals": _with_header("@attribute", "@ATTRIBUTE"),
    "types in capitals": _with_header("numeric", "REAL"),
    "spaces in a set of values": _with_header("{0,1}", "{ 0 , 1 }"),
    "no space before a set of values": _with_header("p {0,1}", "p{0,1}"),
    "a comment after an attribute": _with_header("size numeric", "size numeric % in metres"),
    "a relation with spaces, without quotes": _with_header("'small: -C -2'", "small: -C -2"),
    "no relation": _with_header("@relation 'small: -C -2'\n", ""),
    "a name with an escaped quote": _with_header("size", r"'it\'s size'"),
    "a name with a comma or brace": _with_header("size", "'size, {cm}'"),
    "a name with a percent sign": _with_header("size", "size%"),
    "a category with a percent sign": _with_attribute("share {50%,100%}", "50%", "100%"),
    "a category with an escaped quote": _with_attribute(r"word {'it\'s','a\\b'}", r"'it\'s'", r"'a\\b'"),
    "a category with an escaped tab": _with_attribute(r"word {'a\tb',c}", r"'a\tb'", "c"),
    "a quoted question mark": _with_attribute("word {'?',a}", "'?'", "a"),
    "a text": _with_attribute("name string", "Ann", "'Bob, or so'", "?"),
    "a date": _with_attribute("born date", "2001-02-03T04:05:06", "?"),
    "a date with a format": _with_attribute('born date "yyyy-MM-dd"', "2001-02-03", "'2001-02-03'"),
    "integer written with a point": _with_attribute("count integer", "2", "2.0"),
    "integer that is none": _with_attribute("count integer", "2.5"),
    "nan, inf and 1_0": _with_attribute("x numeric", "nan", "inf", "1_0"),
}
ENCODED: dict[str, tuple[Callable[[str], bytes], str]] = {
    "line ends of Windows": (lambda text: text.replace("\n", "\r\n").encode(), "utf-8"),
    "line ends of old Macs": (lambda text: text.replace("\n", "\r").encode(), "utf-8"),
    "a byte order mark": (lambda text: b"\xef\xbb\xbf" + text.encode(), "utf-8"),
    "latin-1, named": (lambda text: text.replace("size", "größe").encode("latin-1"), "latin-1"),
    "UTF-16, named": (lambda text: text.replace("size", "größe").encode("utf-16"), "utf-16"),
    "UTF-8 names": (lambda text: text.replace("size", "größe").encode(), "utf-8"),
}


def generated() -> Iterator[tuple[str, bytes, str]]:
    """For each trait many files: its name, the file and its encoding. The same files at every call."""
    draw = random.Random(0)
    for trait, make in TRAITS.items():
        for _ in range(PER_TRAIT):
            yield trait, make(draw).encode(), "utf-8"
    for trait, (encode, encoding) in ENCODED.items():
        for _ in range(PER_TRAIT):
            yield trait, encode(HEADER + _rows(draw)), encoding
