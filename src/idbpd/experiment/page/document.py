"""The frame of a page: head, style sheet and script, all inside of one file."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files

from idbpd.experiment.page.markup import Markup, element


def document(title: object, *body: object) -> str:
    """A whole page."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            element("head", *_meta(title)),
            element("body", *body, element("script", Markup(_file("page.js")))),
            "</html>\n",
        ]
    )


def opening(what: str, heading: object, asked: object) -> Markup:
    """The head of a page: what it is and when it was made, its title, and the question that it answers."""
    now = datetime.now(UTC)
    return element(
        "header",
        element("p", f"{what}, ", element("time", f"{now:%Y-%m-%d %H:%M} UTC", datetime=f"{now:%FT%TZ}"),
                class_="note"),
        element("h1", heading),
        element("p", asked, class_="asked"),
    )  # fmt: skip


def contents(sections: Mapping[str, str]) -> Markup:
    """Links to the sections, by identifier."""
    links = [element("a", title, href=f"#{identifier}") for identifier, title in sections.items()]
    return element("nav", *links, aria_label="sections")


def _meta(title: object) -> list[Markup]:
    return [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup('<link rel="icon" href="data:,">'),
        element("title", title),
        element("style", Markup(_file("page.css"))),
    ]


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
