"""HTML by small functions: every text is escaped here, so that no other module has to think of it."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence

# Signs that no HTML page may have, not even escaped.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as text between tags or in an attribute; what is HTML already stays.

    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return value if isinstance(value, Markup) else Markup(html.escape(_FORBIDDEN.sub("�", str(value))))


def name(value: object) -> Markup:
    """A name that somebody else chose, in whatever script: it cannot turn the text around it."""
    return Markup(f"<bdi>{text(value)}</bdi>")


def counted(value: int) -> str:
    """A count; a long one with room between thousands.

    >>> counted(1200), counted(12345).split()
    ('1200', ['12', '345'])
    """
    return f"{value:,}".replace(",", "\u202f") if value >= 10_000 else str(value)


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Texts and HTML, one after the other."""
    return Markup(between.join(text(part) for part in parts))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """An element; ``class_`` is the class, and an underscore in other names is a hyphen. None is left out.

    >>> element("p", "1 < 2", class_="small", aria_label=None)
    '<p class="small">1 &lt; 2</p>'
    """
    return Markup(f"<{tag}{_attributes(attributes)}>{joined(content)}</{tag}>")


def single(tag: str, **attributes: object) -> Markup:
    """An element without content."""
    return Markup(f"<{tag}{_attributes(attributes)}>")


def _attributes(attributes: Mapping[str, object]) -> str:
    return "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )


def paragraphs(*lines: object, class_: str | None = None) -> Markup:
    """A paragraph for each line that says something."""
    return joined(element("p", line, class_=class_) for line in lines if line)


def listed(items: Iterable[object], class_: str | None = None) -> Markup:
    """A list; nothing without items."""
    rows = [element("li", item) for item in items]
    return element("ul", *rows, class_=class_) if rows else Markup("")


def whole(content: object) -> Markup:
    """Something that is not broken at the end of a line."""
    return element("span", content, class_="whole")


def section(identifier: str, title: str, *content: object) -> Markup:
    """A part of the page with a heading."""
    heading = element("h2", title, id=f"{identifier}-title")
    return element("section", heading, *content, id=identifier, aria_labelledby=f"{identifier}-title")


def figure(title: object, drawing: Markup, caption: object = "", class_: str = "chart", heading: str = "h3") -> Markup:
    """A drawing with its title and what it shows."""
    below = element("figcaption", caption) if caption else ""
    return element("figure", element(heading, title), drawing, below, class_=class_)


def grid(*parts: object, class_: str = "panels") -> Markup:
    """Parts beside each other, as many as the screen has room for."""
    return element("div", *parts, class_=class_)


def table(
    caption: object, header: Sequence[object], rows: Iterable[Sequence[object]], *, class_: str = "numbers"
) -> Markup:
    """A table whose first column names the rows. It scrolls inside its own box, which the keyboard can reach."""
    head = element("tr", *(element("th", title, scope="col") for title in header))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    content = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", head),
        element("tbody", *body),
        class_=class_,
    )
    plain = re.sub(r"<[^>]+>", "", text(caption))
    return element("div", content, class_="scroll", tabindex="0", role="group", aria_label=Markup(plain))


def details(title: object, *content: object) -> Markup:
    """What few readers want to see; a printed page has all of it."""
    return element("details", element("summary", title), *content)
