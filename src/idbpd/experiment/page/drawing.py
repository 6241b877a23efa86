"""Lines, marks and axes in SVG.

Every drawing is as wide as a phone (`WIDTH`), so its letters have the same size there and, side by side with others, on
a large screen. Colours are classes: the style sheet has them for light and dark screens and for paper.
"""

from collections.abc import Callable, Iterable, Sequence

from idbpd.experiment.page.markup import Markup, element, single, text
from idbpd.experiment.page.scales import Scale, short

WIDTH = 380.0
LETTER = 6.2  # the width of one letter, at most
SIZE = 11.5


def drawing(height: float, label: str, *parts: object, class_: str | None = None, **attributes: object) -> Markup:
    """A drawing; ``label`` says to those who do not see it what it shows."""
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=label,
        class_=class_,
        **attributes,
    )


def number(value: float) -> str:
    """A place, to a tenth of a pixel."""
    return f"{round(value, 1):g}"


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=number(x1), y1=number(y1), x2=number(x2), y2=number(y2), class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, title: str = "") -> Markup:
    """A rectangle; the title shows where the mouse is."""
    inside = element("title", title) if title else ""
    return element(
        "rect", inside, x=number(x), y=number(y), width=number(width), height=number(max(height, 0)), class_=class_
    )


def words(x: float, y: float, content: object, class_: str = "label", anchor: str = "start") -> Markup:
    """Words that begin, end or have their middle at x."""
    return element("text", content, x=number(x), y=number(y), class_=class_, text_anchor=anchor)


def shortened(content: str, room: float) -> Markup:
    """A name that fits into a room; where it does not, its end is cut off, and the whole shows where the mouse is."""
    letters = max(int(room / LETTER), 2)
    if len(content) <= letters:
        return text(content)
    return Markup(f"{text(content[: letters - 1])}…{element('title', content)}")


def dot(x: float, y: float, class_: str, title: str, size: float = 4.5) -> Markup:
    """A round mark."""
    return element("circle", element("title", title), cx=number(x), cy=number(y), r=number(size), class_=class_)


def cross(x: float, y: float, class_: str, title: str, size: float = 4.2) -> Markup:
    """A mark like an x: another form than a dot, for those who do not tell the colours apart."""
    places = (
        f"M{number(x - size)} {number(y - size)}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}l{-2 * size:g} {2 * size:g}"
    )
    return element("path", element("title", title), d=places, class_=class_)


def arrow(x: float, y: float, direction: int, class_: str, title: str, size: float = 5.0) -> Markup:
    """A mark at the edge: what it stands for is farther in this direction."""
    tip, base = x + direction * (size + 3), x - direction * 2
    places = f"M{number(tip)} {number(y)}L{number(base)} {number(y - size)}L{number(base)} {number(y + size)}Z"
    return element("path", element("title", title), d=places, class_=class_)


def path(points: Iterable[tuple[float, float] | None], class_: str, **attributes: object) -> Markup:
    """A line through points, interrupted where there is none."""
    places, begins = [], True
    for point in points:
        if point is not None:
            places.append(f"{'M' if begins else 'L'}{number(point[0])} {number(point[1])}")
        begins = point is None
    return element("path", d="".join(places), class_=class_, **attributes)


def axes(
    x: Scale,
    y: Scale,
    *,
    x_title: str,
    x_ticks: Sequence[float] | None = None,
    y_ticks: Sequence[float] | None = None,
    x_text: Callable[[float], str] = short,
    y_text: Callable[[float], str] = short,
) -> Markup:
    """Grid lines with their numbers, and what the horizontal axis is. Vertical places count from above."""
    left, right, bottom = x.begin, x.end, y.begin
    parts = []
    for value in y.ticks() if y_ticks is None else y_ticks:
        place = y.at(value)
        parts += [line(left, place, right, place, "grid"), words(left - 5, place + 4, y_text(value), "tick", "end")]
    for value in x.ticks() if x_ticks is None else x_ticks:
        place = x.at(value)
        parts += [
            line(place, bottom, place, bottom + 4, "axis"),
            words(place, bottom + 16, x_text(value), "tick", "middle"),
        ]
    parts += [
        line(left, bottom, right, bottom, "axis"),
        words((left + right) / 2, bottom + 32, x_title, "tick", "middle"),
    ]
    return Markup("".join(parts))


def image(content: str, description: str, size: int) -> Markup:
    """A picture of a sample, from the base64 of its PNG file."""
    return single(
        "img", src=f"data:image/png;base64,{content}", alt=description, width=size, height=size, class_="pixels"
    )
