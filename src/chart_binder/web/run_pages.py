"""The pages of one run: none is asked for twice, under whatever address it was met."""

from chart_binder.web.fetch import Page, PageFetcher

_MOST = 30


class RunPages:
    """Reads pages with a fetcher and keeps them as long as the run lasts."""

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher
        self._known: dict[str, Page] = {}

    def fetch(self, url: str) -> Page:
        """Return a page, read now or before, or raise `FetchError`: a failure is tried again."""
        address = self._fetcher.address(url)
        if address not in self._known:
            page = self._fetcher.fetch(url)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known.update(dict.fromkeys((page.asked, *page.via, page.url), page))
        return self._known[address]
