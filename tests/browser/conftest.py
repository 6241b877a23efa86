from collections.abc import Iterator

import pytest

from tests.browser.driver import Browser, started_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with started_browser() as window:
        yield window
